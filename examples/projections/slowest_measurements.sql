-- How long each measurement took, from request to result, the slowest first.
select r.request_id, r.purpose, r.node_id,
    epoch_us(e.recorded_at) / 1e6 - epoch_us(r.recorded_at) / 1e6 as took_s
from measurement_requested as r
join events as e on e.request_id = r.request_id
    and e.kind in ('ProfileTaken', 'NoiseCalibrated', 'AccuracyMeasured', 'BenchmarkMeasured')
order by took_s desc, r.request_id
