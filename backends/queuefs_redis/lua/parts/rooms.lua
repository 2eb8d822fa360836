local function pending_count(queue)
  return redis.call('ZCARD', key(queue, 'pending')) + redis.call('ZCARD', key(queue, 'waiting'))
end

-- How much room a queue has. A limit of 0 is none.
local function sum_of(queue, what)
  return tonumber(redis.call('HGET', key(queue, 'sums'), what) or '0')
end

local function has_room_for_one(queue, limit)
  limit = tonumber(limit)
  return limit == 0 or pending_count(queue) + redis.call('ZCARD', key(queue, 'processing'))
    + redis.call('HLEN', key(queue, 'staged')) < limit
end

local function has_room_for_bytes(queue, bytes, limit)
  limit = tonumber(limit)
  return limit == 0 or sum_of(queue, 'bytes') + sum_of(queue, 'staged') + bytes <= limit
end
