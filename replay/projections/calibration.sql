-- Expected against measured gain of every benchmarked node: how good the predictions are.
with expected as (
    select
        d.action_id, d.template_id, d.position, s.score, s.form,
        -- What scoring expects of the whole from the share that is touched and its speed-up.
        1 / (1 - least(0.9, s.terms_share_ratio * (1 - 1 / s.terms_speedup_ratio)))
            as expected_ratio
    from action_dispatched as d
    asof join action_scored as s on d.action_id = s.action_id and d.position > s.position
),

measured as (
    select action_id, node_id, position, effect_ratio, effect_low, effect_high
    from benchmark_measured
    where purpose = 'benchmark' and action_id is not null
)

select
    m.node_id, m.action_id, e.template_id, e.score, e.form, e.expected_ratio,
    m.effect_ratio as measured_ratio, m.effect_low as low, m.effect_high as high,
    ln(m.effect_ratio / e.expected_ratio) as log_error,
    e.expected_ratio between m.effect_low and m.effect_high as is_inside,
    m.position
from measured as m
asof join expected as e on m.action_id = e.action_id and m.position > e.position
order by m.position
