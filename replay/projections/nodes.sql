-- The search tree, the same as arbor.core.tree folds in Python.
with recursive root as (
    select 'n000' as node_id, null as parent_id, null as action_id, null as template_id,
           position as created_at, 'kept' as born, root_commit as commit
    from campaign_started
    order by position
    limit 1
),

dispatched as (
    select node_id, parent_id, action_id, template_id, position as created_at, 'working' as born
    from action_dispatched
),

created as (
    select * from dispatched
    union all
    select r.node_id, r.parent_id, r.action_id, d.template_id, r.position, 'ready'
    from action_rebased as r
    asof join dispatched as d on r.action_id = d.action_id and r.position >= d.created_at
),

-- A node stands for its action until the next node of the action is created.
lived as (
    select *, lead(created_at, 1, 9223372036854775807)
        over (partition by action_id order by created_at) as replaced_at
    from created
),

patched as (
    select node_id, min(position) as position
    from patch_proposed
    group by node_id
),

asked as (
    select node_id, max(position) as position, min(position) as first_position
    from measurement_requested
    where action_id is not null
    group by node_id
),

-- Everything that could end a node, in the order of the log.
endings as (
    select l.node_id, l.born, e.position, e.request_id, e.node_id as named_node_id,
        case e.kind
            when 'ActionKept' then 'kept'
            when 'ActionReverted' then 'reverted'
            when 'Crashed' then 'crashed'
            when 'ActionWithdrawn' then 'withdrawn'
            else 'vetoed'
        end as status
    from events as e
    join lived as l
        on e.action_id = l.action_id
        and e.position > l.created_at
        and e.position < l.replaced_at
    where e.kind in ('ActionKept', 'ActionReverted', 'Crashed', 'ActionWithdrawn', 'ActionVetoed')
),

-- A crash ends only what is at work, or being measured if it answers a request: one that comes
-- too late changes nothing.
timely as (
    select e.node_id, e.position, e.status
    from endings as e
    left join patched as p on p.node_id = e.node_id
    left join asked as q on q.node_id = e.node_id
    where e.status <> 'crashed' or (
        coalesce(e.named_node_id, e.node_id) = e.node_id
        and not exists (
            from endings as b
            where b.node_id = e.node_id and b.position < e.position
        )
        and case
            when e.request_id is null
                then e.born = 'working' and coalesce(p.position > e.position, true)
            else coalesce(q.first_position < e.position, false)
        end
    )
),

-- What stands on a revoked node.
below as (
    select node_id as top_id, node_id from keep_revoked
    union
    select b.top_id, l.node_id
    from below as b
    join lived as l on l.parent_id = b.node_id
),

-- A revocation suspends everything that was kept on the node by then.
outcomes as (
    select * from timely
    union all
    select b.node_id, r.position, 'revoked'
    from keep_revoked as r
    join below as b on b.top_id = r.node_id
    join action_kept as k on k.node_id = b.node_id and k.position < r.position
    union all
    select from_node_id, position, 'rebased' from action_rebased
),

-- A veto after a keep changes nothing: the keep is revoked by an event of its own.
effective as (
    select node_id, position, status
    from (
        select *, last_value(case when status <> 'vetoed' then status end ignore nulls) over (
            partition by node_id
            order by position
            rows between unbounded preceding and 1 preceding
        ) as before
        from outcomes
    )
    where not (status = 'vetoed' and coalesce(before, '') = 'kept')
),

final as (
    select node_id, arg_max(status, position) as status
    from effective
    group by node_id
),

-- One look into each payload; a re-validation is about the whole path and changes no node.
facts as materialized (
    select node_id, position, kind,
        json_extract_string(payload, [
            '$.commit', '$.purpose', '$.effect.ratio', '$.effect.low', '$.effect.high'
        ]) as found
    from events
    where kind in ('PatchProposed', 'AccuracyMeasured', 'BenchmarkMeasured', 'ActionKept')
),

commits as (
    select node_id, arg_max(found[1], position) as commit
    from facts
    where kind <> 'BenchmarkMeasured' or found[2] = 'benchmark'
    group by node_id
),

effects as (
    select node_id,
        cast(arg_max(found[3], position) as double) as effect_ratio,
        cast(arg_max(found[4], position) as double) as effect_low,
        cast(arg_max(found[5], position) as double) as effect_high
    from facts
    where kind = 'ActionKept' or (kind = 'BenchmarkMeasured' and found[2] = 'benchmark')
    group by node_id
)

select
    l.node_id, l.parent_id, l.action_id, l.template_id,
    coalesce(
        f.status,
        case
            when q.position is not null then 'measuring'
            when p.position is not null then 'ready'
            else l.born
        end
    ) as status,
    c.commit, x.effect_ratio, x.effect_low, x.effect_high, l.created_at
from lived as l
left join final as f using (node_id)
left join patched as p using (node_id)
left join asked as q using (node_id)
left join commits as c using (node_id)
left join effects as x using (node_id)
union all
select r.node_id, r.parent_id, r.action_id, r.template_id, r.born, r.commit,
    null, null, null, r.created_at
from root as r
order by created_at
