-- Every constraint that was published: what it forbids, why, from where to where in the log.
with ended as (
    select p.position, min(e.position) as lifted_at
    from constraint_published as p
    join (
        select constraint_id, position from constraint_lifted
        union all
        select constraint_id, position from constraint_published
    ) as e on e.constraint_id = p.constraint_id and e.position > p.position
    group by p.position
)

select
    p.constraint_id, p.scope_template_id as template_id,
    p.scope_edits as edits, p.scope_context as context, p.scope_ranges as ranges,
    p.scope_layer as layer, p.scope_category as category, p.scope_hardware as hardware,
    p.scope_software as software, p.scope_below_node_id as below_node_id, p.reason, p.evidence,
    p.actor as published_by, p.position as published_at, e.lifted_at,
    e.lifted_at is null as is_in_force
from constraint_published as p
left join ended as e on e.position = p.position
order by p.position
