-- uses: once
-- ARGV: queue, id, what is wrong with its payload, if somebody has read it and found it so. Puts right what is kept of one
-- message, and returns what it did: 'dead', 'put' (back to its place), 'removed', 'told' (a dead one) or ''.
if before then
  return before
end
go_on_when_full()
local queue, id, wrong = ARGV[4], ARGV[5], ARGV[6]
local PLACED = {'pending', 'delayed', 'paused', 'over', 'aside', 'waiting', 'processing', 'held', 'odd', 'expiry', 'graves'}

-- What is kept of it, as far as it can be read.
local function readable(part)
  local text = redis.call('HGET', key(queue, part), id)
  local m = text and read_meta(text)
  if text and not m.enqueued then
    redis.call('HDEL', key(queue, part), id)
  end
  return m and m.enqueued and m
end

local until_ = redis.call('ZSCORE', key(queue, 'processing'), id)
local rank_
for _, part in ipairs({'held', 'waiting', 'pending', 'aside', 'over', 'paused'}) do
  rank_ = rank_ or redis.call('ZSCORE', key(queue, part), id)
end
local is_placed = until_ or rank_ or redis.call('ZSCORE', key(queue, 'delayed'), id)
local live, dead = readable('meta'), readable('dead')

local function take_from_everywhere()
  for _, part in ipairs(PLACED) do
    redis.call('ZREM', key(queue, part), id)
  end
end

-- Leaves of payloads the one that should be there, in *part*; returns what is wrong with it, nil if nothing is.
local function mend_body(m, part, other_part)
  local length
  if is_big(m.size) then
    redis.call('SADD', key(queue, 'big'), id)
    redis.call('HDEL', key(queue, part), id)
    length = 0
    for at = 0, m.size - 1, PIECE do
      length = length + redis.call('HSTRLEN', pieces(queue, id), digits(at))
    end
  else
    drop_pieces(queue, id)
    if redis.call('HEXISTS', key(queue, part), id) == 0 then
      move_body(queue, id, m.size, other_part, queue, part)
    end
    length = redis.call('HEXISTS', key(queue, part), id) == 1 and redis.call('HSTRLEN', key(queue, part), id)
  end
  redis.call('HDEL', key(queue, other_part), id)
  if not length or length == 0 and is_big(m.size) then
    return 'its payload is missing', 0
  elseif length ~= tonumber(m.size) then
    return is_big(m.size) and 'a part of its payload is missing' or 'its payload is not what was put in', length
  end
  return wrong ~= '' and wrong or nil, length
end

-- Notes of a dead message what is wrong with its payload. What there is of it is its payload from now on, and can be read;
-- where a part is missing that stays known, as flag X, for nobody can be given that.
local function mark_as_damaged(m, why, length)
  set_reason(m, why)
  m.flag = string.find(why, 'missing', 1, true) and 'X' or '-'
  if is_big(m.size) and length == 0 then
    drop_pieces(queue, id)
  end
  if not is_big(m.size) or length == 0 then
    m.size = digits(math.min(length, PIECE))
  end
  if m.flag == '-' then
    m.crc = '-'
  end
end

local function mend_dead(m)
  take_from_everywhere()
  local why, length = mend_body(m, 'remains', 'body')
  if why and m.flag ~= 'X' then
    mark_as_damaged(m, why, length)
  end
  write_meta('dead', queue, id, m)
  redis.call('ZADD', key(queue, 'graves'), 0, id)
  return why and 'told' or 'put'
end

local function mend_live(m)
  local why, length = mend_body(m, 'body', 'remains')
  take_from_everywhere()
  redis.call('HDEL', key(queue, 'dead'), id)
  local name = key_of(m)
  if name then
    release(queue, name, id)
    hold(queue, name, id)
  end
  if m.flag == (until_ and 'P' or 'C') then
    m.flag = '-'
  end
  write_meta('meta', queue, id, m)
  if why then
    local size = m.size
    release_message(queue, id, m)
    mark_as_damaged(m, why, length)
    write_meta('dead', queue, id, m)
    redis.call('ZADD', key(queue, 'graves'), 0, id)
    move_body(queue, id, size, 'body', queue, 'remains')
    count(queue, 'buried', 1)
    tell(queue, 'bury', {id})
    return 'dead'
  end
  if until_ then
    hold_message(queue, id, until_, rank_of(m))
    note('leases', queue, until_)
  else
    make_pending(queue, id, m)
  end
  tell(queue)
  return 'put'
end

-- Of a message without meta its place is known, and its payload if that is there.
local function mend_lost()
  local size = redis.call('HSTRLEN', key(queue, 'body'), id)
  for _, at in ipairs(redis.call('HKEYS', pieces(queue, id))) do
    size = size + redis.call('HSTRLEN', pieces(queue, id), at)
  end
  local m = read_meta(table.concat({'0', digits(0 - (rank_ or '0')), '0', '0', '-', digits(size), '-', '-', '-', '-', '-', '-', ''},
    ' '))
  set_reason(m, 'all that was known of it but its payload is lost')
  write_meta('meta', queue, id, m)
  local there = mend_live(m)
  if there == 'dead' then
    return there
  end
  take_from_everywhere()
  bury(queue, id, m)
  count(queue, 'buried', 1)
  tell(queue, 'bury', {id})
  return 'dead'
end

local function remove_rest()
  take_from_everywhere()
  redis.call('HDEL', key(queue, 'meta'), id)
  redis.call('HDEL', key(queue, 'body'), id)
  redis.call('HDEL', key(queue, 'remains'), id)
  if redis.call('HEXISTS', key(queue, 'staged'), id) == 0 then
    drop_pieces(queue, id)
  end
  return 'removed'
end

local function has_payload()
  return redis.call('HEXISTS', key(queue, 'body'), id) == 1 or redis.call('HEXISTS', key(queue, 'remains'), id) == 1
    or redis.call('EXISTS', pieces(queue, id)) == 1
end

if not known(queue) then
  return '-noqueue'
elseif live and (is_placed or has_payload()) then
  return answer(mend_live(live))
elseif dead then
  return answer(mend_dead(dead))
elseif is_placed then
  return answer(mend_lost())
end
return answer(remove_rest())
