-- What the campaign learned about every template: tries, outcomes, effects, causes of crashes.
with tried as (
    select
        template_id,
        count(*) as num_tries,
        count(*) filter (where status = 'kept') as num_kept,
        count(*) filter (where status = 'reverted') as num_reverted,
        count(*) filter (where status = 'crashed') as num_crashed,
        exp(avg(ln(effect_ratio))) as mean_effect_ratio,
        max(effect_ratio) as best_effect_ratio
    from nodes
    where template_id is not null and status <> 'rebased'
    group by template_id
),

causes as (
    select p.template_id, arg_max(r.cause, r.position) as latest_cause
    from root_cause_found as r
    join action_proposed as p on p.action_id = r.action_id
    group by p.template_id
),

lessons as (
    select template_id, arg_max(lesson, position) as latest_lesson
    from lesson_recorded
    group by template_id
),

imported as (
    select
        template_id,
        arg_max(source_campaign_id, position) as imported_from,
        arg_max(speedup_ratio, position) as imported_speedup_ratio
    from knowledge_imported
    group by template_id
)

select
    t.template_id, t.layer, t.category, t.prior_speedup_ratio,
    coalesce(r.num_tries, 0) as num_tries,
    coalesce(r.num_kept, 0) as num_kept,
    coalesce(r.num_reverted, 0) as num_reverted,
    coalesce(r.num_crashed, 0) as num_crashed,
    r.mean_effect_ratio, r.best_effect_ratio,
    c.latest_cause, l.latest_lesson, i.imported_from, i.imported_speedup_ratio
from templates as t
left join tried as r using (template_id)
left join causes as c using (template_id)
left join lessons as l using (template_id)
left join imported as i using (template_id)
order by t.template_id
