-- How often each guardrail spoke, on how many measurements, how often it refused or saw nothing.
with spoke as (
    select
        f.rule,
        count(*) as num_hits,
        count(distinct f.request_id) as num_requests,
        count(*) filter (where f.severity = 'invalid') as num_invalid,
        count(*) filter (where f.severity = 'suspect') as num_suspect,
        count(distinct f.request_id) filter (
            where not j.is_accepted and starts_with(j.reason, f.rule || ': ')
        ) as num_refused,
        max(f.position) as last_at
    from measurement_flagged as f
    left join measurement_judged as j on j.request_id = f.request_id
    group by f.rule
),

blind as (
    select rule, count(*) as num_unobserved
    from (
        select unnest(cast(unobserved_rules as varchar[])) as rule
        from measurement_judged
    )
    group by rule
)

select
    rule,
    coalesce(s.num_hits, 0) as num_hits,
    coalesce(s.num_requests, 0) as num_requests,
    coalesce(s.num_invalid, 0) as num_invalid,
    coalesce(s.num_suspect, 0) as num_suspect,
    coalesce(s.num_refused, 0) as num_refused,
    coalesce(b.num_unobserved, 0) as num_unobserved,
    s.last_at
from spoke as s
full join blind as b using (rule)
order by num_hits desc, rule
