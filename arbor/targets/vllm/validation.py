"""What has to hold between the entries of a catalog."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from arbor.events.types import Requirement
from arbor.targets.vllm.entry import Entry


def fixed_values(entry: Entry) -> tuple[Requirement, ...]:
    """Return what a configuration holds when an entry is in force, as far as it is known before.

    Numbers that are searched for are left out; choices are all possible.
    """
    edits = [Requirement(key=e.key, any_of=(e.value,)) for e in entry.edits]
    return (
        *edits,
        *(Requirement(key=p.key, any_of=p.choices) for p in entry.space if p.choices),
    )


def problems(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield what is wrong between entries, each with its file, entry and fix."""
    by_id = {entry.id: entry for entry in entries}
    for name, num in Counter(entry.id for entry in entries).items():
        if num > 1:
            files = ", ".join(sorted({_file(e) for e in entries if e.id == name}))
            yield f"{files}: entry {name} is there {num} times; rename all but one"
    for entry in entries:
        for problem in _entry_problems(entry, by_id):
            yield f"{_file(entry)}: entry {entry.id}: {problem}"


def _file(entry: Entry) -> str:
    return f"{entry.layer.value}.yaml"


def _entry_problems(entry: Entry, by_id: Mapping[str, Entry]) -> Iterator[str]:
    named = {
        "requires": [r for r in entry.requires if isinstance(r, str)],
        "conflicts": [r for r in entry.conflicts if isinstance(r, str)],
        "unlocked_by": list(entry.unlocked_by),
    }
    for field, names in named.items():
        for name in names:
            other = by_id.get(name)
            if name == entry.id:
                yield f"{field} names the entry itself; take it out"
            elif other is None:
                yield f"{field} names {name!r}, which is no entry; correct the name"
            elif field != "unlocked_by" and not fixed_values(other):
                yield f"{field} names {name!r}, whose values are searched for; name keys instead"
    for name in sorted(set(named["requires"]) & set(named["conflicts"])):
        yield f"requires and conflicts both name {name!r}; keep one"
