-- ARGV: queue, 1 to put right what is wrong, then part and cursor in turn, of parts that are kept in two ways by id or by
-- key. Returns the cursors, then part and member in turn of what is kept in one way only, or wrongly.
local queue, mends = ARGV[1], ARGV[2] == '1'

-- Those of *ids* that have the key, in the way they are kept.
local function true_holders(name, ids)
  local good = {}
  for id in string.gmatch(ids, '%d+') do
    local m = meta_of(queue, id)
    if m and key_of(m) == name then
      good[#good + 1] = id
    end
  end
  table.sort(good)
  return table.concat(good, ' ')
end

local function mend_holders(name, ids)
  local good = true_holders(name, ids)
  redis.call('HDEL', key(queue, 'keys'), name)
  if good ~= '' then
    redis.call('HSET', key(queue, 'keys'), name, good)
  end
end

local function finished_of(text)
  return string.match(text, '^%S+ %S+ %S+ %S+ %S+ %S+ (%d+) ')
end

local function mend_record(id, text)
  if finished_of(text) then
    redis.call('ZADD', key(queue, 'ends'), finished_of(text), id)
    note('retention', queue, '0')
  else
    redis.call('HDEL', key(queue, 'done'), id)
  end
end

-- How each part is gone through, whether a member of it is right, and what puts it right.
local PARTS = {
  keys = {'HSCAN', function(name, ids)
    return ids ~= '' and true_holders(name, ids) == ids
  end, mend_holders},
  published = {'HSCAN', function(name)
    return redis.call('ZSCORE', key(queue, 'windows'), name)
  end, function(name)
    redis.call('HDEL', key(queue, 'published'), name)
  end},
  windows = {'ZSCAN', function(name)
    return redis.call('HEXISTS', key(queue, 'published'), name) == 1
  end, function(name)
    redis.call('ZREM', key(queue, 'windows'), name)
  end},
  done = {'HSCAN', function(id, text)
    return tonumber(redis.call('ZSCORE', key(queue, 'ends'), id) or '-1') == tonumber(finished_of(text))
  end, mend_record},
  ends = {'ZSCAN', function(id)
    return redis.call('HEXISTS', key(queue, 'done'), id) == 1
  end, function(id)
    redis.call('ZREM', key(queue, 'ends'), id)
  end},
}

local found, wrong = {'+'}, {}
for i = 3, #ARGV, 2 do
  local scan, is_right, mend = unpack(PARTS[ARGV[i]])
  local page = redis.call(scan, key(queue, ARGV[i]), ARGV[i + 1], 'COUNT', 200)
  found[#found + 1] = page[1]
  for j = 1, #page[2], 2 do
    if not is_right(page[2][j], page[2][j + 1]) then
      wrong[#wrong + 1], wrong[#wrong + 2] = ARGV[i], page[2][j]
      if mends then
        go_on_when_full()
        mend(page[2][j], page[2][j + 1])
      end
    end
  end
end
for _, text in ipairs(wrong) do
  found[#found + 1] = text
end
return found
