-- The catalog, and what people and rebuilt paths added to it.
with found as (
    select unnest(cast(actions as json[])) as template, position
    from campaign_started
    union all
    select template, position
    from action_proposed
    where template is not null and json_type(template) = 'OBJECT'
)

select
    json_extract_string(template, '$.template_id') as template_id,
    arg_min(json_extract_string(template, '$.layer'), position) as layer,
    arg_min(json_extract_string(template, '$.category'), position) as category,
    arg_min(json_extract_string(template, '$.title'), position) as title,
    arg_min(cast(json_extract_string(template, '$.prior_speedup_ratio') as double), position)
        as prior_speedup_ratio,
    arg_min(cast(json_extract_string(template, '$.cost_s') as double), position) as cost_s,
    arg_min(cast(json_extract_string(template, '$.is_exact') as boolean), position) as is_exact
from found
group by template_id
order by min(position), template_id
