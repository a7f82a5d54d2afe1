/** The names of the tables, quoted. */
export interface PostgresTables {
  readonly sessions: string
  readonly texts: string
  readonly events: string
  readonly commands: string
  readonly snapshots: string
  readonly pending: string
  readonly migrations: string
  /** The sequence of keys and tokens. */
  readonly numbers: string
  /** Quotes a name that is not qualified by its schema: that of an index. */
  readonly index: (name: string) => string
  readonly channel: string
}

/** The names of the tables of a store. Schema and prefix were checked. */
export function tablesOf(schema: string | undefined, prefix: string): PostgresTables {
  const place = schema === undefined ? '' : `"${schema}".`
  const table = (name: string): string => `${place}"${prefix}${name}"`
  return {
    sessions: table('sessions'),
    texts: table('texts'),
    events: table('events'),
    commands: table('commands'),
    snapshots: table('snapshots'),
    pending: table('pending'),
    migrations: table('migrations'),
    numbers: table('numbers'),
    index: (name) => `"${prefix}${name}"`,
    // Clients differ in how they quote a channel, so its name needs none. A name that is cut is shared, which only costs a look.
    channel: `allm_${schema ?? ''}_${prefix}`.toLowerCase().slice(0, 63),
  }
}

/**
 * The statement that creates the tables or brings them up to date. It is one block, so it needs no transaction of the client, and the lock
 * lets one process after another in. A new version of the tables is a new step; steps that were released stay as they are.
 */
export function migration(tables: PostgresTables, schema: string | undefined): string {
  const steps = [
    [1, firstTables(tables)],
    [2, slots(tables)],
    [3, waiting(tables)],
    [5, expiry(tables)],
  ] as const
  const lock = `${schema ?? ''} ${tables.sessions}`
  return `do $migration$
declare
  current int;
begin
  perform pg_advisory_xact_lock(hashtextextended('allm-ts ${lock}', 0));
  ${schema === undefined ? '' : `if to_regnamespace('"${schema}"') is null then create schema "${schema}"; end if;`}
  if to_regclass('${tables.migrations}') is null then
    create table ${tables.migrations} (version int primary key, at timestamptz not null default now());
  end if;
  select coalesce(max(version), 0) into current from ${tables.migrations};
  if current > ${filledVersion} then
    raise exception 'the tables have version %, and this allm-ts knows ${filledVersion}: update it', current;
  end if;
  ${steps
    .map(
      ([version, step]) => `if current < ${version} then
    ${step}
    insert into ${tables.migrations} (version) values (${version});
  end if;`,
    )
    .join('\n  ')}
end
$migration$`
}

function firstTables(tables: PostgresTables): string {
  const { sessions, texts, events, commands, snapshots, numbers, index } = tables
  const session = `session bigint not null references ${sessions} (key) on delete cascade`
  // Some room in each page lets an append change a row in its place, without a new entry in the indexes.
  return `create sequence ${numbers};
    create table ${sessions} (
      key bigint primary key default nextval('${numbers}'),
      id text collate "C" not null unique,
      version bigint not null default 0,
      status text not null default 'idle',
      updated_at bigint not null,
      folded bigint not null default 0,
      last_event bigint not null default 0,
      last_command bigint not null default 0,
      queued bigint not null default 0,
      token bigint not null default 0,
      owner text,
      due_at bigint,
      wait_ms bigint,
      stop boolean not null default false,
      prune_at bigint
    ) with (fillfactor = 70);
    create index ${index('by_status')} on ${sessions} (status, id);
    create index ${index('by_due')} on ${sessions} (due_at) where due_at is not null;
    create index ${index('by_prune')} on ${sessions} (prune_at) where prune_at is not null;
    create table ${texts} (${session}, body text not null, metadata text not null, primary key (session));
    create table ${events} (
      ${session}, number bigint not null, at bigint not null, body text not null, primary key (session, number)
    );
    create table ${commands} (
      ${session}, number bigint not null, at bigint not null, key bytea, body text not null,
      taken_at bigint, position bigint, refused text, primary key (session, number)
    );
    create unique index ${index('by_key')} on ${commands} (session, key) where key is not null;
    create table ${snapshots} (
      ${session}, version bigint not null, at bigint not null, last_event bigint not null, body text not null,
      primary key (session, version)
    );`
}

/** The slots of commands. */
function slots({ commands, index }: PostgresTables): string {
  return `alter table ${commands} add column slot text collate "C";
    create unique index ${index('by_slot')} on ${commands} (session, slot) where slot is not null;`
}

/** What waits for somebody. */
function waiting({ sessions, pending, index }: PostgresTables): string {
  return `create table ${pending} (
      session bigint not null references ${sessions} (key) on delete cascade, ticket text collate "C" not null,
      id text collate "C" not null, kind text not null, since bigint not null, version bigint not null, body text not null,
      primary key (session, ticket)
    );
    create index ${index('by_since')} on ${pending} (since, id, ticket);
    create index ${index('by_kind')} on ${pending} (kind, since, id, ticket);`
}

/** When what waits expires, if it does. */
function expiry({ pending, index }: PostgresTables): string {
  return `alter table ${pending} add column if not exists expires double precision;
    create index if not exists ${index('by_expires')} on ${pending} (expires) where expires is not null;`
}

/**
 * The version of the tables when `pending` has what waits in the sessions that were there before. This step is
 * not SQL, since sessions have to be read for it, so it has a row of its own and is done after the others.
 * Version 4 was the same before calls could expire.
 */
const filledVersion = 6

/** Milliseconds since 1970, also after a wait for a lock. Inside a condition it is selected, so that an index can be used. */
const now = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** Whether the session `s` has an owner whose lease is live. */
const isLive = `(s.owner is not null and s.due_at > ${now})`

/** The beginning of a second hint that a stop request gives. A session whose id begins with it makes others look once too often. */
export const stopMark = 'stop '

/** The operations that are one statement each; a save is one of three. */
type StatementName =
  | 'isFilled'
  | 'unfilled'
  | 'fill'
  | 'filled'
  | 'load'
  | 'saveOwned'
  | 'saveKnown'
  | 'saveAny'
  | 'refusal'
  | 'delete'
  | 'list'
  | 'append'
  | 'acquire'
  | 'renew'
  | 'release'
  | 'claim'
  | 'push'
  | 'knowsKey'
  | 'readInbox'
  | 'due'
  | 'readEvents'
  | 'readLog'
  | 'readSnapshot'
  | 'look'
  | 'pending'
  | 'expired'
  | 'requestStop'
  | 'stopRequested'
  | 'prune'

/**
 * The statements. Each one changes the row of its session first, which locks it and reads it again after a wait; what it does to the other
 * tables follows from that row. So two of them never see a session in different states, and never wait for each other in a circle.
 */
export function statementsOf(
  tables: PostgresTables,
  notify: boolean,
): Readonly<Record<StatementName, string>> {
  const { sessions, texts, events, commands, snapshots, pending, migrations, numbers, channel } =
    tables
  const hint = (id: string, name = 'hint'): string =>
    `${notify ? `pg_notify('${channel}', ${id})` : 'null'} as ${name}`
  const token = `nextval('${numbers}')`

  // A command that comes at this very moment counts in the row, but cannot be seen by this statement. It is not one of those that were applied.
  const taken = `(case when $7::bigint = 0 then 0 else least($7::bigint, (
      select count(*) from ${commands} c where c.session = s.key and c.number > s.last_command
    )) end)`
  /** $1 id, $2 status, $3 session, $4 metadata, $5 events, $6 their number, $7 taken, $8 refused, $9 first, $10 what waits, $11 ifVersion */
  const saved = `
    version = s.version + 1, status = $2::text, updated_at = ${now},
    folded = s.last_event + $6::bigint, last_event = s.last_event + $6::bigint,
    last_command = s.last_command + ${taken}, queued = s.queued - ${taken},
    prune_at = coalesce(s.prune_at, case when $6::bigint + $7::bigint > 0 or $9::boolean then ${now} end)`
  const asExpected = '($11::bigint is null or s.version = $11::bigint)'
  const savedColumns = 's.key, s.version, s.updated_at, s.last_event, s.last_command'
  const save = (row: string): string => `with saved as (${row} returning ${savedColumns}),
    body as (
      insert into ${texts} (session, body, metadata) select key, $3::text, $4::text from saved
      on conflict (session) do update set body = excluded.body, metadata = excluded.metadata
    ),
    taken as (
      update ${commands} c set taken_at = s.updated_at, position = s.last_event - $6::bigint, refused = $8::text,
        slot = case when $8::text is null then c.slot end
      from saved s
      where c.session = s.key and c.number > s.last_command - $7::bigint and c.number <= s.last_command and c.taken_at is null
    ),
    logged as (
      insert into ${events} (session, number, at, body)
      select s.key, s.last_event - $6::bigint + e.number, s.updated_at, e.event::text
      from saved s, json_array_elements($5::text::json) with ordinality as e (event, number)
    ),
    waits as (
      insert into ${pending} (session, ticket, id, kind, since, version, body, expires)
      select s.key, w.ticket, $1::text, w.kind, s.updated_at, s.version, w.body, w.expires
      from saved s, ${given('$10')}
      on conflict (session, ticket) do update set kind = excluded.kind, version = excluded.version, body = excluded.body,
        expires = excluded.expires
    ),
    -- A row that another save adds at this very moment is not seen here. It does not count, since its version is older.
    settled as (
      delete from ${pending} p using saved s
      where p.session = s.key and not exists (select from ${given('$10')} where w.ticket = p.ticket)
    ),
    kept as (
      insert into ${snapshots} (session, version, at, last_event, body)
      select key, version, updated_at, last_event, $3::text from saved where $9::boolean
    )
    select version::float8 as version, ${hint('$1::text')} from saved`

  /** Whether a prune removes the command `c` from the log. */
  const isOld = '((c.taken_at < cuts.before and c.position <= cuts.cut) is true)'

  const waits = (from: string): string =>
    `select p.id, p.ticket, p.kind, p.since::float8 as since, p.body, t.metadata from ${from} p
      join ${sessions} s on s.key = p.session and s.version = p.version join ${texts} t on t.session = p.session`

  /** $1 id, $2 after, $3 limit. Numbers have no gaps, so the end of the page is known, and no more than the page is read. */
  const key = `(select key from ${sessions} where id = $1::text)`
  const page = `${events} e where e.session = ${key} and e.number > $2::bigint and e.number <= coalesce(
        greatest($2::bigint, (select min(number) - 1 from ${events} where session = ${key})) + $3::bigint, 9223372036854775807)`

  return {
    isFilled: `select version from ${migrations} where version = ${filledVersion}`,
    /** $1 the key of the last session before, $2 limit. A session that is over waits for nothing. */
    unfilled: `select s.key::text as key, s.id, s.version::text as version, s.updated_at::text as updated_at, t.body
      from ${sessions} s join ${texts} t on t.session = s.key
      where s.key > $1::bigint and s.status <> 'completed' order by s.key limit $2::bigint`,
    /** $1 key, $2 version, $3 updated_at, $4 what waits. A session that was saved meanwhile has its rows. */
    fill: `insert into ${pending} as p (session, ticket, id, kind, since, version, body, expires)
      select s.key, w.ticket, s.id, w.kind, $3::bigint, s.version, w.body, w.expires from ${sessions} s, ${given('$4')}
      where s.key = $1::bigint and s.version = $2::bigint
      on conflict (session, ticket) do update set expires = excluded.expires where p.version = excluded.version`,
    filled: `insert into ${migrations} (version) values (${filledVersion}) on conflict do nothing`,

    load: `select s.version::float8 as version, s.updated_at::float8 as updated_at, s.folded::float8 as folded, t.body
      from ${sessions} s join ${texts} t on t.session = s.key where s.id = $1::text`,
    saveOwned: save(
      `update ${sessions} s set ${saved} where s.id = $1::text and s.token = $12::bigint and ${asExpected}`,
    ),
    saveKnown: save(
      `update ${sessions} s set ${saved} where s.id = $1::text and not ${isLive} and ${asExpected}`,
    ),
    saveAny: save(
      `insert into ${sessions} as s (id, version, status, updated_at, folded, last_event, prune_at)
      values ($1::text, 1, $2::text, ${now}, $6::bigint, $6::bigint, case when $6::bigint > 0 or $9::boolean then ${now} end)
      on conflict (id) do update set ${saved} where not ${isLive} and ${asExpected}`,
    ),
    refusal: `select s.version::float8 as version, s.token::float8 as token, s.last_event::float8 as last_event,
        ${isLive} as is_live
      from ${sessions} s where s.id = $1::text`,
    delete: `with gone as (delete from ${sessions} where id = $1::text returning id) select ${hint('id')} from gone`,
    list: `select s.id, s.status, s.version::float8 as version, s.updated_at::float8 as updated_at, s.due_at::float8 as due_at, t.metadata
      from ${sessions} s left join ${texts} t on t.session = s.key`,

    /** $1 id, $2 token, $3 events, $4 their number, $5 after */
    append: `with s as (
        update ${sessions} set last_event = last_event + $4::bigint,
          prune_at = coalesce(prune_at, case when $4::bigint > 0 then ${now} end)
        where id = $1::text and token = $2::bigint and ($5::bigint is null or last_event = $5::bigint) returning key, last_event
      ),
      logged as (
        insert into ${events} (session, number, at, body)
        select s.key, s.last_event - $4::bigint + e.number, ${now}, e.event::text
        from s, json_array_elements($3::text::json) with ordinality as e (event, number)
      )
      select last_event::float8 as number, ${hint('$1::text')} from s`,

    /** $1 id, $2 owner, $3 ttlMs */
    acquire: `insert into ${sessions} as s (id, updated_at, token, owner, due_at)
      values ($1::text, ${now}, ${token}, $2::text, ${now} + $3::bigint)
      on conflict (id) do update set token = ${token}, owner = $2::text, due_at = ${now} + $3::bigint,
        wait_ms = case when s.owner is null and s.queued = 0 and s.due_at > ${now} then s.due_at - ${now} end
      where not ${isLive}
      returning id, token::float8 as token, due_at::float8 as due_at, wait_ms::float8 as wait_ms, ${hint('id')}`,
    renew: `update ${sessions} set due_at = ${now} + $3::bigint
      where id = $1::text and token = $2::bigint and owner is not null returning true as renewed`,
    // A row that was only made to take its lease is removed. Whether it is one is decided after the lock, so a push at this moment is kept.
    release: `with emptied as (
        delete from ${sessions}
        where id = $1::text and token = $2::bigint and owner is not null
          and version = 0 and last_event = 0 and queued = 0 and $3::bigint is null
        returning id, false as is_due
      ),
      released as (
        update ${sessions} set owner = null, stop = stop and $3::bigint is not null, wait_ms = null,
          due_at = case when queued > 0 or stop and $3::bigint is not null then ${now} else ${now} + $3::bigint end
        where id = $1::text and token = $2::bigint and owner is not null and not exists (select 1 from emptied)
        returning id, coalesce(due_at <= ${now}, false) as is_due
      )
      select is_due, ${hint('id')} from (select * from emptied union all select * from released) as either`,
    /** $1 owner, $2 ttlMs */
    claim: `update ${sessions} set token = ${token}, owner = $1::text, due_at = ${now} + $2::bigint, wait_ms = null
      where key = (
        select key from ${sessions} where due_at <= (select ${now}) order by due_at limit 1 for update skip locked
      )
      returning id, token::float8 as token, due_at::float8 as due_at, wait_ms::float8 as wait_ms, ${hint('id')}`,

    /**
     * $1 id, $2 command, $3 key, $4 ifIdle, $5 slot. Of two with one slot at the same moment the second
     * violates the unique index, so its statement fails, and is repeated.
     */
    push: `with known as (
        select (
          select c.body from ${sessions} s join ${commands} c on c.session = s.key where s.id = $1::text and c.key = ${hash('$3')}
        ) as body
      ),
      holder as (
        select c.at, c.body from ${sessions} s join ${commands} c on c.session = s.key where s.id = $1::text and c.slot = $5::text
      ),
      pushed as (
        insert into ${sessions} as s (id, updated_at, queued, due_at, prune_at)
        select $1::text, ${now}, 1, ${now}, ${now} from known where body is null and not exists (select from holder)
        on conflict (id) do update set queued = s.queued + 1, prune_at = coalesce(s.prune_at, ${now}),
          due_at = case when ${isLive} then s.due_at else least(s.due_at, ${now}) end
        where s.due_at is null or not $4::boolean
        returning s.key, s.last_command + s.queued as number
      ),
      stored as (
        insert into ${commands} (session, number, at, key, slot, body)
        select key, number, ${now}, ${hash('$3')}, $5::text, $2::text from pushed
      ),
      hinted as (select ${hint('$1::text')} from pushed)
      select known.body as known, (select count(*) from hinted) > 0 as pushed, holder.body as holder, holder.at::float8 as holder_at,
        $4::boolean and exists (select from ${sessions} where id = $1::text and due_at is not null) as is_busy
      from known left join holder on true`,
    knowsKey: `select c.body from ${sessions} s join ${commands} c on c.session = s.key
      where s.id = $1::text and c.key = ${hash('$2')}`,
    readInbox: `select c.at::float8 as at, c.body from ${sessions} s
      join ${commands} c on c.session = s.key and c.number > s.last_command where s.id = $1::text order by c.number`,
    due: `select id from ${sessions} where due_at <= (select ${now}) order by due_at limit $1::bigint`,

    /** $1 id, $2 after, $3 limit */
    readEvents: `select 0 as rank, e.number::float8 as number, e.at::float8 as at, e.body, null as refused
      from ${page}
      order by e.number limit $3::bigint`,
    /** The same with $4 afterCommand, $5 the number of events before a command. A command comes after the events that were there when it was applied. */
    readLog: `select rank, number::float8 as number, at::float8 as at, body, refused from (
        (select e.number as place, 0 as rank, e.number, e.at, e.body, null as refused
          from ${page}
          order by e.number limit $3::bigint)
        union all
        (select c.position as place, 1 as rank, c.number, c.taken_at as at, c.body, c.refused
          from ${commands} c where c.session = (select key from ${sessions} where id = $1::text)
            and c.number > $4::bigint and c.position >= $5::bigint
          order by c.number limit $3::bigint)
      ) as log order by place, rank, number limit $3::bigint`,
    /** $1 id, $2 at */
    readSnapshot: `select p.body, p.last_event::float8 as last_event
      from ${snapshots} p where p.session = (select key from ${sessions} where id = $1::text) and p.last_event <= $2::bigint
      order by p.version desc limit 1`,
    look: `select s.version::float8 as version, s.status, s.last_event::float8 as last_event,
        s.last_command::float8 as last_command, s.queued::float8 as queued,
        case when ${isLive} then s.owner end as owner, s.due_at::float8 as due_at
      from ${sessions} s where s.id = $1::text`,
    /** The caller adds conditions, the order and a limit. */
    pending: waits(pending),
    /** $1 expiresBy. What has expired is read first, by its index: otherwise a limit may lead the planner through all that waits. */
    expired: `with expired as materialized (select * from ${pending} where expires <= $1::float8) ${waits('expired')}`,
    requestStop: `update ${sessions} set stop = true, due_at = case when owner is null then least(due_at, ${now}) else due_at end
      where id = $1::text and due_at is not null returning ${hint('id')}, ${hint(`'${stopMark}' || id`, 'stop_hint')}`,
    stopRequested: `select stop from ${sessions} where id = $1::text`,

    /**
     * $1 keepMs, $2 limit. The log is cut at the first snapshot of the newest run that began before, or at its end if all of it is older and in
     * the session. Sessions whose events are not all in the session come last: there is less to remove.
     */
    prune: `with clock as (select ${now} - $1::bigint as before),
      old as (
        select s.key, s.folded, s.last_event, clock.before from ${sessions} s, clock
        where s.prune_at < (select before from clock)
        order by s.folded < s.last_event, s.prune_at limit $2::bigint for update of s skip locked
      ),
      cuts as (
        select old.key, old.before, over.is_over, run.version as run,
          case when over.is_over then old.folded else coalesce(run.last_event, 0) end as cut
        from old
        left join lateral (
          select p.version, p.last_event from ${snapshots} p
          where p.session = old.key and p.last_event <= coalesce(
            (select max(e.number) from ${events} e where e.session = old.key and e.at < old.before), 0
          ) order by p.version desc limit 1
        ) as run on true
        left join lateral (
          select e.number, e.at from ${events} e where e.session = old.key order by e.number desc limit 1
        ) as newest on true
        cross join lateral (
          select old.folded = old.last_event
            and (newest.number is null or newest.number = old.last_event and newest.at < old.before) as is_over
        ) as over
      ),
      events_gone as (
        delete from ${events} e using cuts where e.session = cuts.key and e.number <= cuts.cut returning e.session
      ),
      commands_gone as (
        delete from ${commands} c using cuts where c.session = cuts.key and c.slot is null and ${isOld} returning c.session
      ),
      -- A command without a position is not in the log. It only has its slot.
      keys_gone as (
        update ${commands} c set
          key = case when c.at >= cuts.before then c.key end,
          position = case when not ${isOld} then c.position end
        from cuts where c.session = cuts.key and (
          c.key is not null and c.at < cuts.before and not ${isOld} or c.slot is not null and ${isOld}
        )
        returning c.session
      ),
      snapshots_gone as (
        delete from ${snapshots} p using cuts
        where p.session = cuts.key and case when cuts.is_over then p.at < cuts.before else p.version < cuts.run end
        returning p.session
      ),
      next as (
        update ${sessions} s set prune_at = least(
          (select min(e.at) from ${events} e where e.session = s.key and e.at >= cuts.before),
          (select e.at from ${events} e where e.session = s.key and e.number = s.last_event and s.folded < s.last_event),
          (select min(p.at) from ${snapshots} p where p.session = s.key and p.at >= cuts.before),
          (select min(c.at) from ${commands} c where c.session = s.key and c.key is not null and c.at >= cuts.before),
          (select min(c.taken_at) from ${commands} c where c.session = s.key and c.taken_at >= cuts.before)
        ) from cuts where s.key = cuts.key
      )
      select count(distinct session)::float8 as number from (
        select session from events_gone union all select session from commands_gone
        union all select session from keys_gone union all select session from snapshots_gone
      ) as gone`,
  }
}

/** What waits in a session, from a parameter. */
function given(param: string): string {
  return `json_to_recordset(${param}::text::json) as w (ticket text, kind text, body text, expires double precision)`
}

/** Keys may be long, so their hashes are stored. */
function hash(key: string): string {
  return `sha256(convert_to(${key}::text, 'UTF8'))`
}
