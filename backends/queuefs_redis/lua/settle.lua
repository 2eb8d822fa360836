-- uses: common, once, pending
-- ARGV: queue, verb, lease, now, then id and claim for each. Returns one letter for each, see `standing`.
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
if not known(queue) then
  return '-noqueue'
end
go_on_when_full()
local processing = key(queue, 'processing')
local until_ = verb == 'extend' and digits(clock(ARGV[7]) + ARGV[6])
local settled, done = {}, false

local VERBS = {
  ack = function(id)
    local meta = redis.call('HGET', key(queue, 'meta'), id)
    redis.call('ZREM', processing, id)
    redis.call('HDEL', key(queue, 'body'), id)
    redis.call('HDEL', key(queue, 'meta'), id)
    if meta then
      local _, _, _, _, size = string.match(meta, META)
      redis.call('HINCRBY', P .. 'bytes', queue, digits(0 - size))
    end
  end,
  nack = function(id)
    give_back(queue, id)
  end,
  undo = function(id)
    uncount(queue, id)
    give_back(queue, id)
  end,
  extend = function(id)
    redis.call('ZADD', processing, until_, id)
  end,
}

for i = 8, #ARGV, 2 do
  local letter = standing(queue, ARGV[i], ARGV[i + 1])
  if letter == 'D' then
    VERBS[verb](ARGV[i])
    done = true
  end
  settled[#settled + 1] = letter
end
if done and verb == 'extend' then
  note_lease(queue, until_)
elseif done and verb ~= 'ack' then
  wake(queue)
end
return answer(table.concat(settled))
