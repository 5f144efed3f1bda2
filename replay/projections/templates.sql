-- The catalog, and what people and rebuilt paths added to it.
with listed as (
    select unnest(cast(actions as json[])) as template, position
    from campaign_started
),

found as (
    select
        json_extract_string(template, '$.template_id') as template_id,
        json_extract_string(template, '$.layer') as layer,
        json_extract_string(template, '$.category') as category,
        json_extract_string(template, '$.title') as title,
        cast(json_extract_string(template, '$.prior_speedup_ratio') as double)
            as prior_speedup_ratio,
        cast(json_extract_string(template, '$.cost_s') as double) as cost_s,
        cast(json_extract_string(template, '$.is_exact') as boolean) as is_exact,
        position
    from listed
    union all
    select
        template_template_id, template_layer, template_category, template_title,
        template_prior_speedup_ratio, template_cost_s, template_is_exact, position
    from action_proposed
    where template_template_id is not null
)

-- The first definition of a name holds.
select * exclude (position)
from found
qualify row_number() over (partition by template_id order by position) = 1
order by position, template_id
