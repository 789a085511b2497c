"""Reads a calendar with third-party libraries, and prints one line of JSON for each event.

    python tests/web/ics.py feed.ics

Time zones come only from the definitions in the file: they are renamed first, so that the libraries cannot
use the machine's own time zone database. Times are printed in UTC, days of all-day events unchanged. Exits with 1 and the reason on stderr if the file has a line over 75 octets, a line that
does not end with CRLF, or a time in a zone that it does not describe.

Needs the packages icalendar and recurring_ical_events.
"""

import json
import re
import sys
from datetime import date, datetime, timezone
from pathlib import Path

import icalendar
import recurring_ical_events

MAX_LINE_OCTETS = 75


class InvalidCalendar(Exception):
    """The file violates RFC 5545."""


def check_lines(content: bytes) -> None:
    if not content.endswith(b"\r\n"):
        raise InvalidCalendar("the last line does not end with CRLF")
    for number, line in enumerate(content.removesuffix(b"\r\n").split(b"\r\n"), start=1):
        if b"\n" in line or b"\r" in line:
            raise InvalidCalendar(f"line {number} contains a bare CR or LF")
        if len(line) > MAX_LINE_OCTETS:
            raise InvalidCalendar(f"line {number} has {len(line)} octets")


def with_renamed_zones(content: bytes) -> bytes:
    """The unfolded text with renamed time zones, which only the file defines."""
    unfolded = re.sub(rb"\r\n[ \t]", b"", content)
    return re.sub(rb"^(TZID:|[A-Z]+;TZID=)", rb"\1Described-", unfolded, flags=re.MULTILINE)


def format_time(time: date | datetime) -> str:
    if not isinstance(time, datetime):
        return time.isoformat()
    if time.tzinfo is None:
        raise InvalidCalendar(f"{time.isoformat()} is in a zone that the file does not describe")
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def events(content: bytes):
    check_lines(content)
    calendar = icalendar.Calendar.from_ical(with_renamed_zones(content))
    for event in recurring_ical_events.of(calendar, skip_bad_series=False).all():
        yield {
            "uid": str(event["UID"]),
            "summary": str(event["SUMMARY"]),
            "start": format_time(event.start),
            "end": format_time(event.end),
            "status": str(event["STATUS"]),
            "sequence": int(event["SEQUENCE"]),
            "all_day": not isinstance(event.start, datetime),
        }


def main() -> int:
    try:
        for event in events(Path(sys.argv[1]).read_bytes()):
            print(json.dumps(event, ensure_ascii=False))
    except (InvalidCalendar, ValueError) as fault:
        print(f"{sys.argv[1]}: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
