-- uses: common
return '+' .. (redis.call('GET', P .. 'clock') or '')
