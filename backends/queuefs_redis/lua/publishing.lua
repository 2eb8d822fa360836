-- Of staged messages. stages:<daemon>: id -> 'queue partial priority enqueued size crc'; the bytes: staged.
local STAGE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$'

-- The first write, HDEL, is one that a full server allows.
local function drop_staged(owner, id, queue)
  redis.call('HDEL', P .. 'stages:' .. owner, id)
  redis.call('HDEL', key(queue, 'staged'), id)
end

local function publish_staged(owner, id, stage)
  local queue, _, priority, enqueued, size, crc = string.match(stage, STAGE)
  local body = redis.call('HGET', key(queue, 'staged'), id)
  drop_staged(owner, id, queue)
  local meta = table.concat({enqueued, priority, '0', '0', size, crc}, ' ')
  if body then
    redis.call('HSET', key(queue, 'body'), id, body)
  end
  redis.call('HSET', key(queue, 'meta'), id, meta)
  redis.call('HINCRBY', P .. 'bytes', queue, size)
  make_pending(queue, id, meta)
  wake(queue)
end

-- Does with a stage what its owner, being dead, can't; returns its queue and whether it was published.
local function adopt(owner, id, stage)
  local queue, partial = string.match(stage, STAGE)
  if partial == '1' then
    drop_staged(owner, id, queue)
    return queue, false
  end
  publish_staged(owner, id, stage)
  return queue, true
end
