import { expect, test } from 'vitest'
import { parseBucketAddress, toBucketUrl } from '../../../src/files/blobs/s3-address.ts'

test.each([
  ['', null],
  ['s3://media', { bucket: 'media', prefix: '' }],
  ['s3://media/', { bucket: 'media', prefix: '' }],
  ['s3://my.media-1/a/b_2', { bucket: 'my.media-1', prefix: 'a/b_2/' }],
])('%j is %j', (text, address) => {
  expect(parseBucketAddress(text)).toEqual(address)
})

test.each([
  'media',
  'https://media',
  's3://',
  's3://M',
  's3://a',
  's3://media//a',
  's3://media/../a',
  's3://media/a b',
])('%j is refused', (text) => {
  expect(() => parseBucketAddress(text)).toThrow(/must be `s3:\/\/bucket`/)
})

test.each([
  ['media', null, 'https://media.s3.eu-west-1.amazonaws.com'],
  ['my.media', null, 'https://s3.eu-west-1.amazonaws.com/my.media'],
  ['media', 'http://127.0.0.1:8333', 'http://127.0.0.1:8333/media'],
])('the bucket %s at %s is %s', (bucket, endpoint, url) => {
  expect(toBucketUrl({ bucket, prefix: '' }, endpoint, 'eu-west-1')).toBe(url)
})
