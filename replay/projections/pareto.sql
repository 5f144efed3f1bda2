-- Throughput against latency of every measured node, and whether no other one beats it in both.
with windows as (
    select
        node_id,
        exp(avg(ln(candidate_throughput_tok_s))) as throughput_tok_s,
        avg(candidate_tpot_ms_p50) as tpot_ms,
        count(*) as num_windows
    from pair_measured
    where is_valid and guard = '' and candidate_throughput_tok_s > 0
    group by node_id
)

select
    w.node_id, n.template_id, n.status, w.throughput_tok_s, w.tpot_ms, w.num_windows,
    w.tpot_ms is not null and w.throughput_tok_s > coalesce(
        max(w.throughput_tok_s) filter (where w.tpot_ms is not null) over (
            order by w.tpot_ms nulls last, w.throughput_tok_s desc
            rows between unbounded preceding and 1 preceding
        ),
        0
    ) as is_on_front
from windows as w
join nodes as n using (node_id)
order by w.tpot_ms nulls last, w.throughput_tok_s desc
