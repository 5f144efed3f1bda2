-- What happened to actions and to the campaign, in order, with seconds since the start.
with start as (
    select min(recorded_at) as started_at from campaign_started
),

named as (
    select action_id, any_value(template_id) as template_id
    from action_proposed
    group by action_id
)

select
    e.position,
    (epoch_us(e.recorded_at) - epoch_us(s.started_at)) / 1e6 as elapsed_s,
    e.actor, e.kind, e.action_id, e.node_id, n.template_id,
    coalesce(
        json_extract_string(e.payload, '$.reason'),
        json_extract_string(e.payload, '$.message'),
        json_extract_string(e.payload, '$.cause'),
        json_extract_string(e.payload, '$.stop')
    ) as reason,
    cast(json_extract_string(e.payload, '$.effect.ratio') as double) as effect_ratio
from events as e
cross join start as s
left join named as n on n.action_id = e.action_id
where e.kind in (
    'CampaignStarted', 'CampaignPaused', 'CampaignResumed', 'CampaignEnded',
    'ActionDispatched', 'ActionRebased', 'ActionKept', 'ActionReverted', 'ActionWithdrawn',
    'Crashed', 'RootCauseFound', 'ConstraintPublished', 'ConstraintLifted', 'ActionVetoed',
    'ActionApproved', 'KeepRevoked', 'NoiseCalibrated', 'BenchmarkMeasured', 'MeasurementJudged'
)
order by e.position
