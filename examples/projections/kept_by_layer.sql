-- What every layer of the stack gained.
select t.layer, count(*) as num_kept, exp(sum(ln(n.effect_ratio))) as gain_ratio
from nodes as n
join templates as t using (template_id)
where n.status = 'kept'
group by t.layer
order by gain_ratio desc
