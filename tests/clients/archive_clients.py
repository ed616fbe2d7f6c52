"""Clients of web archives, unchanged, against the service: memento_client, cdx_toolkit in both dialects, waybackpy."""

import collections
import datetime
import json
import pathlib
import types

import cdx_toolkit
import cdx_toolkit.myrequests
import waybackpy
from memento_client import MementoClient

from archive import indexed, payloads
from common import add, folder
from service import Service, demo

# A client that waits three seconds between requests would wait for an hour here.
cdx_toolkit.myrequests.retry_info["default"]["minimum_interval"] = 0


def main():
    captures = by_url(indexed())
    contents = payloads()
    with folder() as work:
        work = pathlib.Path(work)
        with Service(demo(work / "crawl.lk")) as service:
            print(f"memento_client: {memento(service, captures)} questions, the nearest captures")
            print(f"cdx_toolkit: {toolkit(service, captures, contents)} captures in each dialect, contents too")
            print(f"waybackpy: {wayback(service, captures)} captures")
        with Service(many(work)) as service:
            print(f"cdx_toolkit: {pages(service)} captures by page")


def by_url(lines):
    """Dates by address, in order."""
    captures = collections.defaultdict(list)
    for line in lines:
        _, date, facts = line.split(" ", 2)
        captures[json.loads(facts)["url"]].append(date)
    return captures


def moment(digits):
    return datetime.datetime.strptime(digits, "%Y%m%d%H%M%S")


def nearest(dates, wanted):
    return min(reversed(dates), key=lambda date: abs(moment(date) - wanted))


def memento(service, captures):
    asked = 0
    for path in ("/timegate/", "/crawl/", "/archive/"):
        client = MementoClient(timegate_uri=service.url + path, check_native_timegate=False)
        for url, dates in captures.items():
            wanted = moment(dates[0]) + datetime.timedelta(days=asked * 37 % 2000 - 200)
            # Without a response it would ask the address itself.
            info = client.get_memento_info(url, wanted, req_uri_response=types.SimpleNamespace(headers={}))
            closest = info["mementos"]["closest"]
            date = nearest(dates, wanted)
            assert closest["datetime"] == moment(date), f"{url} at {wanted}: {closest}"
            assert closest["http_status_code"] == 200
            assert closest["uri"][0].endswith(f"/{date}/{url}"), closest
            assert info["mementos"]["first"]["datetime"] == moment(dates[0])
            assert info["mementos"]["last"]["datetime"] == moment(dates[-1])
            at = dates.index(date)
            for name, other in (("prev", at - 1), ("next", at + 1)):
                expected = moment(dates[other]) if 0 <= other < len(dates) else None
                assert info["mementos"].get(name, {}).get("datetime") == expected, f"{url}: {name} of {date}"
            asked += 1
        there = closest["uri"][0]
        assert client.is_memento(there) and client.get_original_uri(there) == url
        raw = there.replace(f"/{date}/", f"/{date}id_/")
        assert client.is_memento(raw) and client.get_original_uri(raw) == url
        gate = service.url + path + url
        assert client.is_timegate(gate) and not client.is_memento(gate)
    nobody = client.get_memento_info("http://nobody.example/", req_uri_response=types.SimpleNamespace(headers={}))
    assert "mementos" not in nobody
    return asked


def toolkit(service, captures, contents):
    expected = {(url, date) for url, dates in captures.items() for date in dates}
    for place in ("/crawl/cdx", "/archive-cdx", "/cdx/search/cdx"):
        cdx = cdx_toolkit.CDXFetcher(source=service.url + place, wb=service.url + "/crawl")
        found = {(one["url"], one["timestamp"]): one for one in cdx.iter("*.example.org")}
        assert found.keys() == expected, f"{place}: {len(found)} of {len(expected)}"
        assert len(list(cdx.iter("docs.example.org/*", limit=17))) == 17
        assert cdx.get("nobody.example") == [] and list(cdx.iter("nobody.example/*")) == []
        some = cdx.get("docs.example.org", matchType="host", from_ts="2024", to="2024", filter=["!mime:warc/revisit", "status:200"])
        assert some and all(one["timestamp"].startswith("2024") for one in some)
        assert cdx.get_size_estimate("*.example.org", as_pages=True) == 1
        sample = sorted(found)[:: 1 if place == "/crawl/cdx" else 40]
        for url, date in sample:
            assert found[url, date].content == contents[url, date], f"{place}: {url} at {date} has other bytes"
        if place != "/cdx/search/cdx":
            assert all(isinstance(one["cluster"], int) for one in found.values()), "a line has no cluster"
            ours = [one for one in found.values() if "resemblance" in one]
            assert len(ours) == len(expected) - len(captures), "all but the first have one before them"
            alike = cdx.get("*.example.org", collapse="cluster")
            clusters = {one["cluster"] for one in found.values()}
            assert len(alike) == len(clusters) == len({one["cluster"] for one in alike})
            one = next(iter(clusters))
            same = cdx.get("*.example.org", filter=f"=cluster:{one}")
            assert {row["cluster"] for row in same} == {one}
    return len(expected)


def wayback(service, captures):
    expected = {(url, date) for url, dates in captures.items() for date in dates}

    def api(url, **options):
        one = waybackpy.WaybackMachineCDXServerAPI(url, **options)
        one.endpoint = service.url + "/cdx/search/cdx"
        return one

    found = [(one.original, one.timestamp) for one in api("docs.example.org*", limit=50).snapshots()]
    found += [(one.original, one.timestamp) for one in api("handbook.example.org", match_type="host").snapshots()]
    found += [(one.original, one.timestamp) for one in api("mirror.example.org", match_type="domain").snapshots()]
    assert len(found) == len(set(found)) and set(found) == expected, f"{len(found)} of {len(expected)}"
    url, dates = next((url, dates) for url, dates in captures.items() if len(dates) == 3)
    assert api(url).near(year=2022, month=1, day=1).timestamp == nearest(dates, datetime.datetime(2022, 1, 1))
    assert api(url).oldest().timestamp == dates[0] and api(url).newest().timestamp == dates[-1]
    assert len(list(api(url, collapses=["timestamp:4"]).snapshots())) == 3
    assert len(list(api(url, collapses=["urlkey"]).snapshots())) == 1
    assert len(list(api(url, filters=["!mimetype:warc/revisit"]).snapshots())) == 2
    assert len(list(api(url, start_timestamp="2021", end_timestamp="2023").snapshots())) == 1
    assert [one.timestamp for one in api(url, sort="reverse").snapshots()] == dates[::-1]
    there = waybackpy.WaybackMachineAvailabilityAPI(url)
    there.endpoint, there.api_call_time_gap = service.url + "/wayback/available", 0
    there.near(year=2021, month=1, day=1)
    assert there.archive_url == f"{service.url}/crawl/{dates[0]}/{url}", there.archive_url
    assert there.timestamp() == moment(dates[0])
    return len(found)


def many(work):
    """A collection of more captures than a page has."""
    lines = (json.dumps({"url": f"http://a.example/{n:05}", "text": f"page {n}", "date": "2026-11-16"}) for n in range(7000))
    (work / "many.jsonl").write_text("\n".join(lines) + "\n")
    add(work / "many.lk", work / "many.jsonl")
    return work / "many.lk"


def pages(service):
    for place in ("/many/cdx", "/cdx/search/cdx"):
        cdx = cdx_toolkit.CDXFetcher(source=service.url + place)
        urls = [one["url"] for one in cdx.iter("a.example/*", pageSize=1)]
        assert urls == [f"http://a.example/{n:05}" for n in range(7000)], f"{place}: {len(urls)}"
        assert cdx.get_size_estimate("a.example/*", as_pages=True, pageSize=1) == 3
    return len(urls)


main()
