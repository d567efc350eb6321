"""A real pretalx with a small event: filled, exported and given uploads through its own pages and its API.

Run by a Python that has pretalx, with a folder for its database and one of

- ``fill SEED KIND``: make the event, and write its exports to ``exports``, what the database holds to ``truth.json``;
- ``assign FILE DIRECTION``: import review assignments on the page for it; prints what the page says and who is
  assigned before and after.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

SLUG = "democon"
STATES = ["submitted"] * 6 + ["accepted", "confirmed", "rejected", "withdrawn", "canceled", "draft"]
TITLES = ["Of ties, and chains", '"Quoted"', "=2+3", "Über Größe", "@home", "Two\nlines", "-1 is fewer"]


def start(folder: Path) -> None:
    """Set Django up on a database in the folder, made anew where there is none."""
    config = folder / "pretalx.cfg"
    fields = {name: folder / name for name in ("data", "media", "static", "logs")}
    lines = ["[filesystem]", *(f"{name} = {path}" for name, path in fields.items())]
    lines += ["[database]", "backend = sqlite3", f"name = {folder / 'db.sqlite3'}", "[site]", "url = http://localhost"]
    config.write_text("\n".join([*lines, "debug = False", "secret = " + "a" * 50, ""]))
    os.environ["PRETALX_CONFIG_FILE"] = str(config)
    os.environ["DJANGO_SETTINGS_MODULE"] = "pretalx.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from django.test.utils import override_settings, setup_test_environment

    # A page with an error in it is rendered, and its form can be looked at; no style sheets are collected for it.
    setup_test_environment()
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    override_settings(
        STORAGES={"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}, "staticfiles": plain}
    ).enable()
    if not (folder / "db.sqlite3").exists():
        call_command("migrate", verbosity=0)


def fill(seed: int, kind: str) -> None:
    """Make an event with reviews of every sort; ``one`` has one category of scores, ``many`` several."""
    from pretalx.event.models import Event, Organiser, Team
    from pretalx.person.models import SpeakerProfile, User
    from pretalx.submission.models import Review, ReviewScore, ReviewScoreCategory, Submission

    draw = random.Random(seed)
    admin = User.objects.create_user(name="Chair", email="chair@example.org", password="so-long-a-secret")
    admin.is_administrator = True
    admin.save()
    organiser = Organiser.objects.create(name="Org", slug="org")
    day = dt.date.today() + dt.timedelta(days=60)
    event = Event.objects.create(
        organiser=organiser,
        name="DemoCon",
        slug=SLUG,
        email="chair@example.org",
        date_from=day,
        date_to=day,
        timezone="UTC",
        locale="en",
        locale_array="en",
        is_public=True,
    )
    if not event.score_categories.exists():
        event.build_initial_data()
    emails = [f"o'hara{n}@example.org" if n % 3 == 0 else f"rev.iewer+{n}@example.org" for n in range(8)]
    people = [User.objects.create_user(name=f"Re Viewer {n}", email=email) for n, email in enumerate(emails)]
    team = Team.objects.create(organiser=organiser, name="Reviewers", is_reviewer=True)
    team.limit_events.add(event)
    team.members.set(people)
    (first,) = event.score_categories.all()
    categories = [first]
    if kind == "many":
        categories += [
            ReviewScoreCategory.objects.create(event=event, name="Impact", weight=2),
            ReviewScoreCategory.objects.create(event=event, name="Fit", is_independent=True),
        ]
        for category in categories[1:]:
            for value in (-1, 0, 1.5, 3):
                ReviewScore.objects.create(category=category, value=value, label=f"so {value}")
    submissions = [
        Submission.objects.create(
            event=event,
            title=f"{TITLES[n % len(TITLES)]} {n}",
            submission_type=event.cfp.default_type,
            state=STATES[n % len(STATES)],
            content_locale="en",
        )
        for n in range(24)
    ]
    # One reviewer speaks; from 2026.1 on the profile does, before that the account.
    profile, _ = SpeakerProfile.objects.get_or_create(user=people[0], event=event)
    submissions[0].speakers.add(profile if Submission.speakers.field.related_model is SpeakerProfile else people[0])
    for submission in submissions[:-2]:
        if submission.state == "draft":
            continue
        able = [who for who in people if who is not people[0] or submission is not submissions[0]]
        for who in draw.sample(able, 3):
            submission.assigned_reviewers.add(who)
            written = draw.random()
            if written < 0.2:
                continue
            review = Review.objects.create(submission=submission, user=who, text="Fine,\n=1+1")
            if written < 0.3:
                continue  # a text and no score
            given = [draw.choice(list(category.scores.all())) for category in categories]
            review.scores.set(given[: 1 + (written > 0.35) * len(given)])
            review.save()


def export(folder: Path) -> None:
    """Write the exports that a chair finds, byte for byte, and what the database holds."""
    from django.test import Client
    from pretalx.event.models import Event
    from pretalx.person.models import User
    from pretalx.submission.models import Review, Submission

    event = Event.objects.get(slug=SLUG)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(email="chair@example.org"), backend="django.contrib.auth.backends.ModelBackend")
    out = folder / "exports"
    out.mkdir(exist_ok=True)

    def keep(name: str, answer: Any) -> None:
        if answer.status_code != 200 or b"<!DOCTYPE html" in answer.content[:300]:
            sys.exit(f"{name}: {answer.status_code} {answer.content[-3000:].decode()}")
        (out / name).write_bytes(answer.content)

    scores = [f"score_{category.pk}" for category in event.score_categories.all()]
    bare = ["score", "submission_id", "user_email"]
    every = [*bare, "text", *scores, "submission_title", "created", "updated", "user_name"]
    few = {"named": ["score", "submission_title", "user_name"], "bare": bare, "every": every}
    pages = f"/orga/event/{SLUG}"
    for name, fields in few.items():
        for form in ("csv", "json"):
            ticked = dict.fromkeys(fields, "on")
            answer = client.post(f"{pages}/reviews/export/", {**ticked, "export_format": form, "target": "all"})
            keep(f"reviews-{name}.{form}", answer)
    sessions = dict.fromkeys(["title", "state", "speaker_names", "speaker_ids", "mean_score", "median_score"], "on")
    for form in ("csv", "json"):
        told = {**sessions, "export_format": form, "target": "all", "data_delimiter": "newline"}
        keep(f"sessions.{form}", client.post(f"{pages}/schedule/export/", told))
    token = token_of(event)
    asked = {
        "api-reviews.json": "events/democon/reviews/?page_size=250",
        "api-reviews-all.json": "events/democon/reviews/?page_size=250&expand=user,scores.category,submission",
        "api-submissions.json": "events/democon/submissions/?page_size=250&expand=speakers",
        "api-submissions-plain.json": "events/democon/submissions/?page_size=250",
        "api-teams.json": "organisers/org/teams/?expand=members",
        "api-page-1.json": "events/democon/reviews/?page_size=30",
        "api-page-2.json": "events/democon/reviews/?page_size=30&page=2",
    }
    for name, address in asked.items():
        keep(name, client.get(f"/api/{address}", headers={"Authorization": f"Token {token}"}))
    manager = getattr(Submission, "all_objects", Submission.objects)
    truth = {
        "states": {one.code: one.state for one in manager.filter(event=event)},
        "titles": {one.code: one.title for one in manager.filter(event=event)},
        "people": {one.code: [one.name, one.email] for one in event.reviewers},
        "speakers": {
            one.code: [getattr(who, "user", who).email for who in one.speakers.all()]
            for one in manager.filter(event=event)
        },
        "reviews": [
            {
                "user": one.user.email,
                "code": one.user.code,
                "submission": one.submission.code,
                "score": None if one.score is None else float(one.score),
                "scores": {str(score.category.name): float(score.value) for score in one.scores.all()},
            }
            for one in Review.objects.filter(submission__event=event)
        ],
        "assigned": assigned(event),
    }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def token_of(event: Any) -> str:
    """Return a token of the chair that may read all of the event."""
    from pretalx.person.models import User
    from pretalx.person.models.auth_token import ENDPOINTS, READ_PERMISSIONS, UserApiToken

    reads = {name: list(READ_PERMISSIONS) for name in ENDPOINTS}
    chair = User.objects.get(email="chair@example.org")
    token = UserApiToken.objects.create(name="reader", user=chair, endpoints=reads)
    token.events.add(event)
    return str(token.token)


def assigned(event: Any) -> list[list[str]]:
    """Return who is assigned to what, by address and by code, as the database has it."""
    from pretalx.submission.models import Submission

    manager = getattr(Submission, "all_objects", Submission.objects)
    pairs = [
        (who.email, who.code, one.code) for one in manager.filter(event=event) for who in one.assigned_reviewers.all()
    ]
    return [list(pair) for pair in sorted(pairs)]


def assign(file: str, direction: str) -> None:
    """Import assignments on the page for it, adding to what there is."""
    from django.test import Client
    from pretalx.event.models import Event
    from pretalx.person.models import User

    event = Event.objects.get(slug=SLUG)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(email="chair@example.org"), backend="django.contrib.auth.backends.ModelBackend")
    before = assigned(event)
    with open(file, "rb") as upload:
        answer = client.post(
            f"/orga/event/{SLUG}/reviews/assign/import",
            {"import_file": upload, "direction": direction, "replace_assignments": "0"},
        )
    taken = answer.status_code == 302
    errors = [] if taken else [str(error) for errors in answer.context["form"].errors.values() for error in errors]
    print(json.dumps({"taken": taken, "errors": errors, "before": before, "after": assigned(event)}))


if __name__ == "__main__":
    folder, task, *rest = Path(sys.argv[1]).resolve(), *sys.argv[2:]
    start(folder)
    from django_scopes import scopes_disabled

    with scopes_disabled():
        if task == "fill":
            fill(int(rest[0]), rest[1])
            export(folder)
        else:
            assign(*rest)
