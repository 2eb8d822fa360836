-- ARGV: queue, then part and cursor in turn. Goes on through the parts of the queue that have ids, some of each. Returns
-- the cursors, then ids of which all should be looked at: those that have a meta or are dead, and those of other parts
-- that should belong to one and don't.
local queue = ARGV[1]

local function has(part)
  return function(id)
    return redis.call('HEXISTS', key(queue, part), id) == 1
  end
end

local function belongs_to_any(id)
  return has('meta')(id) or has('dead')(id) or has('staged')(id)
end

local function is_passed()
  return false
end

-- How each part is gone through, and which of its ids need no look.
local PARTS = {
  meta = {'HSCAN', is_passed}, dead = {'HSCAN', is_passed}, body = {'HSCAN', has('meta')}, remains = {'HSCAN', has('dead')},
  graves = {'ZSCAN', has('dead')}, big = {'SSCAN', belongs_to_any},
}

-- A payload may be long, and to be scanned it is copied.
local AT_ONCE = {body = 50, remains = 50}

local found, ids = {'+'}, {}
for i = 2, #ARGV, 2 do
  local part, cursor = ARGV[i], ARGV[i + 1]
  local scan, needs_none = unpack(PARTS[part] or {'ZSCAN', has('meta')})
  local page = redis.call(scan, key(queue, part), cursor, 'COUNT', AT_ONCE[part] or 200)
  found[#found + 1] = page[1]
  for j = 1, #page[2], scan == 'SSCAN' and 1 or 2 do
    if not needs_none(page[2][j]) then
      ids[#ids + 1] = page[2][j]
    end
  end
end
for _, id in ipairs(ids) do
  found[#found + 1] = id
end
return found
