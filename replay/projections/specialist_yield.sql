-- What specialists brought, by kind and layer: patches, keeps, crashes, gain, hours of work.
with fates as (
    select n.node_id, n.status, n.effect_ratio, d.node_id as dispatched_id
    from nodes as n
    asof join action_dispatched as d
        on n.action_id = d.action_id and n.created_at >= d.position
    where n.status <> 'rebased'
),

worked as (
    select d.node_id, (epoch_us(min(p.recorded_at)) - epoch_us(min(d.recorded_at))) / 1e6 as work_s
    from action_dispatched as d
    join patch_proposed as p on p.node_id = d.node_id
    group by d.node_id
)

select
    d.specialist, t.layer,
    count(*) as num_dispatched,
    count(w.node_id) as num_patches,
    count(*) filter (where f.status = 'kept') as num_kept,
    count(*) filter (where f.status = 'reverted') as num_reverted,
    count(*) filter (where f.status = 'crashed') as num_crashed,
    coalesce(exp(sum(ln(f.effect_ratio)) filter (where f.status = 'kept')), 1.0) as gain_ratio,
    coalesce(sum(w.work_s), 0.0) / 3600 as work_hours
from action_dispatched as d
join templates as t using (template_id)
left join fates as f on f.dispatched_id = d.node_id
left join worked as w on w.node_id = d.node_id
group by d.specialist, t.layer
order by d.specialist, t.layer
