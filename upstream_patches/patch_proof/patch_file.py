"""Patches in the format of `git format-patch`, and the series that defines their order."""

from __future__ import annotations

import email
import email.policy
import re
from dataclasses import dataclass
from pathlib import Path

REQUIRED_FIELDS = ("Bug", "Forwarded", "Applied-Upstream", "Applies-To", "Proved-By")
_FIELD = re.compile(r"^([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)+|Bug|Forwarded): (.*)$")
_TAGS = re.compile(r"^(?:\[[^]]+\])+ ")


class PatchError(ValueError):
    """A patch or the series does not have the required form; the message says which and why."""


@dataclass(frozen=True)
class Patch:
    """A patch.

    `subject` is the title with upstream's tags but without `[PATCH]`; `title` is without tags.
    `fields` are the lines `Name: value` at the end of the message; `touched` are the files of the
    diff.
    """

    path: Path
    subject: str
    author: str
    date: str
    body: str
    fields: dict[str, tuple[str, ...]]
    touched: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def title(self) -> str:
        return _TAGS.sub("", self.subject)

    @property
    def tests(self) -> tuple[str, ...]:
        """The test files that the patch adds as its proof."""
        return self.fields["Proved-By"]

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The titles of the earlier patches that this one depends on."""
        return self.fields.get("Depends-On", ())


def read_patch(path: Path) -> Patch:
    """Read a patch. Raises PatchError if its message is incomplete."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    for header in ("From", "Date", "Subject"):
        if not message[header]:
            raise PatchError(f"{path.name} has no header {header}")
    subject = " ".join(str(message["Subject"]).split())
    if not subject.startswith("[PATCH] "):
        raise PatchError(f"{path.name}: the subject does not begin with [PATCH]: {subject}")
    text = message.get_content()
    description, separator, diff = text.partition("\n---\n")
    if not separator:
        raise PatchError(f"{path.name} has no diff")
    body, fields = _split_fields(description)
    missing = [field for field in REQUIRED_FIELDS if field not in fields]
    if missing:
        raise PatchError(f"{path.name} lacks the fields {', '.join(missing)}")
    return Patch(
        path=path,
        subject=subject.removeprefix("[PATCH] "),
        author=str(message["From"]),
        date=str(message["Date"]),
        body=body,
        fields=fields,
        touched=tuple(re.findall(r"^diff --git a/(\S+) b/\1$", diff, re.MULTILINE)),
    )


def _split_fields(description: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Split a message into the prose and the fields of the last paragraph."""
    body, _, last = description.strip().rpartition("\n\n")
    fields: dict[str, tuple[str, ...]] = {}
    for line in last.splitlines():
        found = _FIELD.match(line)
        if found is None:
            raise PatchError(f"not a field in the last paragraph: {line}")
        fields[found[1]] = (*fields.get(found[1], ()), found[2])
    return body, fields


def read_series(directory: Path) -> tuple[Patch, ...]:
    """The patches listed in `directory/series`, in order.

    Raises PatchError for a file that is missing or not listed, a number out of order, and a
    Depends-On that does not name an earlier patch.
    """
    lines = (directory / "series").read_text(encoding="utf-8").splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    unlisted = sorted({path.name for path in directory.glob("*.patch")} - set(names))
    if unlisted:
        raise PatchError(f"not listed in series: {', '.join(unlisted)}")
    patches: list[Patch] = []
    for number, name in enumerate(names, start=1):
        if not name.startswith(f"{number:04d}-") or not (directory / name).is_file():
            raise PatchError(
                f"{name}: entry {number} of series must be a file {number:04d}-….patch"
            )
        patch = read_patch(directory / name)
        unknown = set(patch.depends_on) - {earlier.title for earlier in patches}
        if unknown:
            raise PatchError(f"{name} depends on no earlier patch: {', '.join(sorted(unknown))}")
        patches.append(patch)
    return tuple(patches)


def requirements(patch: Patch, series: tuple[Patch, ...]) -> list[Patch]:
    """The patches that must be applied before `patch`, in the order of the series."""
    needed: set[str] = set()
    pending = list(patch.depends_on)
    by_title = {other.title: other for other in series}
    while pending:
        title = pending.pop()
        if title not in needed:
            needed.add(title)
            pending.extend(by_title[title].depends_on)
    return [other for other in series if other.title in needed]
