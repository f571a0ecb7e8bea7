"""The table of run leases and the statements on it; each is one round trip and needs no session.

Time is the database's. A lease is a row whose `expires_at` is in the future; a row that has expired may be taken over by
anybody. Tokens come from a sequence, so every grant has a larger one than all before it.
"""

from __future__ import annotations

from typing import Final

SETUP_LOCK: Final = 7_306_912_448_019
"""Key of the transaction lock under which the table is made."""

EXISTS: Final = "SELECT to_regclass('lgos_run_leases') IS NOT NULL AS made"
SETUP: Final = (
    f"SELECT pg_advisory_xact_lock({SETUP_LOCK})",
    "CREATE SEQUENCE IF NOT EXISTS lgos_run_lease_token",
    """
    CREATE TABLE IF NOT EXISTS lgos_run_leases (
        key text PRIMARY KEY,
        model text NOT NULL,
        holder uuid NOT NULL,
        token bigint NOT NULL,
        acquired_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS lgos_run_leases_holder ON lgos_run_leases (holder)",
)

# A key that somebody else holds is not even tried: an insert would wait for a write that is just being fenced. A row of
# the asking process itself is what a lost answer or a failed release left behind.
ACQUIRE: Final = """
    INSERT INTO lgos_run_leases AS held (key, model, holder, token, acquired_at, expires_at)
    SELECT wanted.key, wanted.model, %(holder)s, nextval('lgos_run_lease_token'), now(), now() + %(ttl)s
    FROM unnest(%(keys)s::text[], %(models)s::text[]) AS wanted(key, model)
    WHERE NOT EXISTS (
        SELECT FROM lgos_run_leases AS other
        WHERE other.key = wanted.key AND other.expires_at > now() AND other.holder <> %(holder)s
    )
    ORDER BY wanted.key
    ON CONFLICT (key) DO UPDATE SET
        model = excluded.model, holder = excluded.holder, token = excluded.token,
        acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
    WHERE held.expires_at <= now() OR held.holder = excluded.holder
    RETURNING held.key, held.token, held.xmax <> 0 AS taken_over
"""

# A row that a fenced write holds just now is skipped and renewed the next time; it is not lost.
RENEW: Final = """
    WITH mine AS (
        SELECT key FROM lgos_run_leases WHERE holder = %(holder)s AND expires_at > now()
        ORDER BY key FOR NO KEY UPDATE SKIP LOCKED
    ), renewed AS (
        UPDATE lgos_run_leases AS held SET expires_at = now() + %(ttl)s
        FROM mine WHERE held.key = mine.key RETURNING held.key, held.token
    )
    SELECT key, token, true AS renewed FROM renewed
    UNION ALL
    SELECT key, token, false FROM lgos_run_leases
    WHERE holder = %(holder)s AND expires_at > now() AND key NOT IN (SELECT key FROM renewed)
"""

RELEASE: Final = """
    DELETE FROM lgos_run_leases AS held
    USING unnest(%(keys)s::text[], %(tokens)s::bigint[]) AS done(key, token)
    WHERE held.key = done.key AND held.token = done.token
"""

RELEASE_ALL: Final = "DELETE FROM lgos_run_leases WHERE holder = %(holder)s"

# Shared with other writes of the same run, but not with a take-over: that waits until the write is committed.
FENCE: Final = """
    SELECT FROM lgos_run_leases
    WHERE key = %(key)s AND token = %(token)s AND expires_at > clock_timestamp()
    FOR SHARE
"""

EXPIRED: Final = """
    DELETE FROM lgos_run_leases WHERE expires_at < now() - interval '1 day'
"""
