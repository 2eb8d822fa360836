return '+' .. (redis.call('GET', P .. 'last-id') or '0')
