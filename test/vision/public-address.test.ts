import { describe, expect, test } from 'vitest'
import { addressProblem, isPublicHost } from '../../src/vision/fetch-image.ts'

const notPublic = 'leads to a host that is not public'

describe('an address that is fetched for somebody else', () => {
  test.each([
    ['loopback', 'http://127.0.0.1/'],
    ['all of loopback', 'http://127.255.0.1/'],
    ['decimal', 'http://2130706433/'],
    ['octal', 'http://0177.0.0.1/'],
    ['hexadecimal', 'http://0x7f000001/'],
    ['hexadecimal by parts', 'http://0x7f.0x0.0x0.0x1/'],
    ['short', 'http://127.1/'],
    ['mixed forms', 'http://0x7f.1/'],
    ['full-width digits', 'http://１２７.０.０.１/'],
    ['circled digits', 'http://①②⑦.⓪.⓪.①/'],
    ['percent-encoded digits', 'http://%31%32%37.0.0.1/'],
    ['a dot at the end', 'http://127.0.0.1./'],
    ['this host', 'http://0.0.0.0/'],
    ['short zero', 'http://0/'],
    ['private 10', 'http://10.1.2.3/'],
    ['private 172', 'http://172.16.0.1/'],
    ['the end of private 172', 'http://172.31.255.255/'],
    ['private 192', 'http://192.168.1.1/'],
    ['shared by carriers', 'http://100.64.0.1/'],
    ['link-local', 'http://169.254.1.1/'],
    ['the metadata service', 'http://169.254.169.254/latest/meta-data/'],
    ['the metadata service in decimal', 'http://2852039166/'],
    ['the metadata service of another cloud', 'http://100.100.100.200/'],
    ['protocol assignments', 'http://192.0.0.192/'],
    ['benchmarks', 'http://198.18.0.1/'],
    ['documentation', 'http://203.0.113.9/'],
    ['multicast', 'http://224.0.0.1/'],
    ['broadcast', 'http://255.255.255.255/'],
    ['IPv6 loopback', 'http://[::1]/'],
    ['IPv6 loopback in full', 'http://[0:0:0:0:0:0:0:1]/'],
    ['IPv6 unspecified', 'http://[::]/'],
    ['IPv6 mapped loopback', 'http://[::ffff:127.0.0.1]/'],
    ['IPv6 mapped in hexadecimal', 'http://[::ffff:7f00:1]/'],
    ['IPv6 with IPv4 at its end', 'http://[::127.0.0.1]/'],
    ['IPv6 translated', 'http://[64:ff9b::10.0.0.1]/'],
    ['IPv6 translated locally', 'http://[64:ff9b:1::1]/'],
    ['6to4 of a private address', 'http://[2002:c0a8:101::1]/'],
    ['Teredo', 'http://[2001:0:4136:e378::]/'],
    ['IPv6 unique local', 'http://[fd00:ec2::254]/'],
    ['IPv6 link-local', 'http://[fe80::1]/'],
    ['IPv6 multicast', 'http://[ff02::1]/'],
    ['IPv6 documentation', 'http://[2001:db8::1]/'],
    ['localhost', 'http://localhost:8080/'],
    ['localhost with a dot', 'http://localhost./'],
    ['localhost in capitals', 'http://LOCALHOST/'],
    ['a name under localhost', 'http://a.localhost/'],
    ['a name without a dot', 'http://metadata/'],
    ['a metadata name', 'http://metadata.google.internal/computeMetadata/v1/'],
    ['a metadata name with a dot', 'http://metadata.google.internal./'],
    ['a name in a cluster', 'http://api.default.svc.cluster.local/'],
    ['a name at home', 'http://printer.lan/'],
    ['a name in reverse', 'http://1.0.0.127.in-addr.arpa/'],
  ])('%s is refused', (_name, address) => {
    expect(addressProblem(address)).toBe(notPublic)
  })

  test.each([
    ['a file', 'file:///etc/passwd', 'is not http or https'],
    ['data', 'data:image/png;base64,iVBORw0KGgo=', 'is not http or https'],
    ['ftp', 'ftp://example.com/a.png', 'is not http or https'],
    ['a user name', 'https://me@example.com/a.png', 'holds a user name or a password'],
    ['a password', 'https://:secret@example.com/', 'holds a user name or a password'],
    [
      'a host hidden by a user name',
      'http://example.com@127.0.0.1/',
      'holds a user name or a password',
    ],
    ['no address', 'a.png', 'is not an address'],
    ['a number that is too large', 'http://4294967296/', 'is not an address'],
  ])('%s is refused', (_name, address, problem) => {
    expect(addressProblem(address)).toBe(problem)
  })

  test.each([
    'https://example.com/a.png',
    'http://example.com:8080/a.png',
    'https://images.example.co.uk./a.png?sig=1',
    'https://8.8.8.8/a.png',
    'http://172.15.0.1/',
    'http://172.32.0.1/',
    'http://100.63.255.255/',
    'http://100.128.0.1/',
    'http://169.253.0.1/',
    'http://198.20.0.1/',
    'https://[2606:4700::1111]/a.png',
    'https://[2001:4860:4860::8888]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://localhost.example.com/',
  ])('%s passes', (address) => {
    expect(addressProblem(address)).toBeUndefined()
  })
})

test.each([
  ['127.0.0.1', false],
  ['::1', false],
  ['fe80::1%eth0', false],
  ['::ffff:10.0.0.1', false],
  ['1:2:3', false],
  ['1::2::3', false],
  ['93.184.215.14', true],
  ['2606:4700::1111', true],
])('a name server that gives %s is judged the same way', (address, isPublic) => {
  expect(isPublicHost(address)).toBe(isPublic)
})
