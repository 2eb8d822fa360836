-- uses: common, once, pending
-- ARGV: queue, verb, lease, now, then id and claim for each. Returns one letter for each, see `standing`.
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
local processing = key(queue, 'processing')
local until_ = verb == 'extend' and digits(clock(ARGV[7]) + ARGV[6])
local settled, done = {}, false

local VERBS = {
  ack = function(id, meta)
    redis.call('ZREM', processing, id)
    redis.call('HDEL', key(queue, 'body'), id)
    redis.call('HDEL', key(queue, 'meta'), id)
    if meta then
      local _, _, _, _, size = string.match(meta, META)
      redis.call('HINCRBY', P .. 'bytes', queue, digits(0 - size))
    end
  end,
  nack = function(id, meta)
    give_back(queue, id, meta)
  end,
  undo = function(id, meta)
    undo(queue, id, meta)
  end,
  extend = function(id)
    go_on_when_full()
    redis.call('ZADD', processing, until_, id)
  end,
}

for i = 8, #ARGV, 2 do
  local letter, meta = standing(queue, ARGV[i], ARGV[i + 1])
  if letter == 'D' then
    VERBS[verb](ARGV[i], meta)
    done = true
  end
  settled[#settled + 1] = letter
end
if not done and not known(queue) then
  return '-noqueue'
end
if done and verb == 'extend' then
  note_lease(queue, until_)
elseif done and verb ~= 'ack' then
  wake(queue)
end
return done and answer(table.concat(settled)) or '+' .. table.concat(settled)
