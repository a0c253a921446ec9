// The AWS SDK for JavaScript against a live server.
const assert = require('node:assert');
const s3v = require('@aws-sdk/client-s3vectors');

const endpoint = process.env.AWS_ENDPOINT_URL_S3VECTORS;
const arn = 'arn:aws:s3vectors:us-east-1:000000000000:bucket/';
const client = (accessKeyId = 'ADMIN', maxAttempts = 1, secretAccessKey = process.env.AWS_SECRET_ACCESS_KEY) =>
  new s3v.S3VectorsClient({ credentials: { accessKeyId, secretAccessKey }, maxAttempts });
const c = client();
const run = (name, input, by = c) => by.send(new s3v[name + 'Command'](input));

// fails checks the name, status and fields of an error.
async function fails(promise, name, status, message, field) {
  const e = await promise.then(() => assert.fail(`it did not fail with ${name}`), (e) => e);
  assert.strictEqual(e.name, name, e.stack);
  assert.strictEqual(e.$metadata.httpStatusCode, status);
  assert.ok(e.$metadata.requestId);
  if (message) assert.strictEqual(e.message, message);
  if (field) assert.deepStrictEqual(e.fieldList.map((f) => f.path), [field]);
}

async function fresh(name, more = {}) {
  await run('CreateVectorBucket', { vectorBucketName: name });
  await run('CreateIndex', { vectorBucketName: name, indexName: 'index', dataType: 'float32', dimension: 3, distanceMetric: 'cosine', ...more });
  return { vectorBucketName: name, indexName: 'index' };
}

const cases = {
  async buckets() {
    await run('CreateVectorBucket', { vectorBucketName: 'js-one', tags: { a: 'b' } });
    await fails(run('CreateVectorBucket', { vectorBucketName: 'js-one' }), 'ConflictException', 409, 'A vector bucket with the specified name already exists');
    const { vectorBucket } = await run('GetVectorBucket', { vectorBucketArn: arn + 'js-one' });
    assert.ok(vectorBucket.creationTime instanceof Date);
    assert.deepStrictEqual(vectorBucket.encryptionConfiguration, { sseType: 'AES256' });
    assert.strictEqual((await run('ListVectorBuckets', { prefix: 'js-one' })).vectorBuckets.length, 1);
    await fails(run('GetVectorBucket', {}), 'ValidationException', 400, 'Must specify either vectorBucketName or vectorBucketArn but not both');
    await run('DeleteVectorBucket', { vectorBucketName: 'js-one' });
    await fails(run('GetVectorBucket', { vectorBucketName: 'js-one' }), 'NotFoundException', 404, 'The specified vector bucket could not be found');
  },
  async indexes() {
    const ref = await fresh('js-index', { metadataConfiguration: { nonFilterableMetadataKeys: ['text'] } });
    const { index } = await run('GetIndex', ref);
    assert.strictEqual(index.indexArn, arn + 'js-index/index/index');
    assert.deepStrictEqual(index.metadataConfiguration, { nonFilterableMetadataKeys: ['text'] });
    assert.strictEqual((await run('ListIndexes', { vectorBucketName: 'js-index' })).indexes.length, 1);
    await fails(run('CreateIndex', { ...ref, dataType: 'float32', dimension: 3, distanceMetric: 'cosine' }), 'ConflictException', 409);
    await fails(run('CreateIndex', { ...ref, indexName: 'two', dataType: 'float32', dimension: 0, distanceMetric: 'cosine' }), 'ValidationException', 400, undefined, '/dimension');
    await fails(run('DeleteVectorBucket', { vectorBucketName: 'js-index' }), 'ConflictException', 409, 'The specified vector bucket is not empty');
    await run('DeleteIndex', ref);
    await fails(run('GetIndex', ref), 'NotFoundException', 404, 'The specified index could not be found');
  },
  async vectors() {
    const ref = await fresh('js-vectors');
    const metadata = { s: 'é😀', n: 1.5, b: true, l: ['a', 'b'], '': '' };
    await run('PutVectors', { ...ref, vectors: [{ key: '鍵 "q" 😀', data: { float32: [0.1, 1, -2.5e-9] }, metadata }, { key: 'b', data: { float32: [0, 1, 0] } }] });
    const { vectors } = await run('GetVectors', { ...ref, keys: ['鍵 "q" 😀'], returnData: true, returnMetadata: true });
    assert.deepStrictEqual(vectors[0].data.float32, [0.1, 1, -2.5e-9].map(Math.fround));
    assert.deepStrictEqual(vectors[0].metadata, metadata);
    const found = await run('QueryVectors', { ...ref, topK: 10, queryVector: { float32: [0, 1, 0] }, returnDistance: true, filter: { n: { $exists: false } } });
    assert.deepStrictEqual(found.vectors, [{ key: 'b', distance: 0 }]);
    for (const x of [NaN, Infinity, -Infinity]) {
      await fails(run('PutVectors', { ...ref, vectors: [{ key: 'bad', data: { float32: [x, 1, 1] } }] }), 'ValidationException', 400,
        "Invalid record for key 'bad': vector contains NaNs or Infs", 'vectors[0]');
    }
    await fails(run('PutVectors', { ...ref, vectors: [{ key: 'x\ud800', data: { float32: [1, 1, 1] } }] }), 'SerializationException', 400);
    await fails(run('QueryVectors', { ...ref, topK: 1, queryVector: { float32: [1, 1, 1] }, filter: {} }), 'ValidationException', 400, 'Invalid filter', 'filter');
    await fails(run('QueryVectors', { ...ref, topK: 1, queryVector: { float32: [0, 0, 0] } }), 'ValidationException', 400, undefined, 'vector');
    await run('DeleteVectors', { ...ref, keys: ['b', 'none'] });
    assert.strictEqual((await run('ListVectors', ref)).vectors.length, 1);
  },
  async pages() {
    const ref = await fresh('js-pages');
    const vectors = Array.from({ length: 400 }, (_, i) => ({ key: `k${i}`, data: { float32: [1, i, 0] }, metadata: { i, text: 'x'.repeat(500) } }));
    await run('PutVectors', { ...ref, vectors });
    for (const n of [1, 4, 16]) {
      const seen = new Set();
      for (let segmentIndex = 0; segmentIndex < n; segmentIndex++) {
        for await (const page of s3v.paginateListVectors({ client: c, pageSize: 50 }, { ...ref, segmentCount: n, segmentIndex })) {
          page.vectors.forEach((v) => seen.add(v.key));
        }
      }
      assert.strictEqual(seen.size, 400);
    }
    const order = [];
    let nextToken;
    let answers = 0;
    do {
      const page = await run('QueryVectors', { ...ref, topK: 400, queryVector: { float32: [1, 0, 0] }, returnMetadata: true, nextToken });
      page.vectors.forEach((v) => order.push(v.metadata.i));
      nextToken = page.nextToken;
      answers++;
    } while (nextToken);
    assert.deepStrictEqual(order, vectors.map((_, i) => i));
    assert.ok(answers > 1);
  },
  async tagsAndPolicies() {
    const ref = await fresh('js-tags');
    const resourceArn = arn + 'js-tags/index/index';
    await run('TagResource', { resourceArn, tags: { 'a b': 'é/+', x: '' } });
    await run('UntagResource', { resourceArn, tagKeys: ['x', 'no/ne'] });
    assert.deepStrictEqual((await run('ListTagsForResource', { resourceArn })).tags, { 'a b': 'é/+' });
    await fails(run('TagResource', { resourceArn, tags: { 'aws:x': '' } }), 'ValidationException', 400, 'System tags cannot be added/updated by requester');
    await fails(run('GetVectorBucketPolicy', { vectorBucketName: 'js-tags' }), 'NotFoundException', 404);
    const policy = JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3vectors:GetIndex', Resource: resourceArn }] });
    await fails(run('GetIndex', ref, client('NOBODY')), 'AccessDeniedException', 403);
    await run('PutVectorBucketPolicy', { vectorBucketName: 'js-tags', policy });
    assert.strictEqual((await run('GetVectorBucketPolicy', { vectorBucketName: 'js-tags' })).policy, policy);
    await run('GetIndex', ref, client('NOBODY'));
    await run('DeleteVectorBucketPolicy', { vectorBucketName: 'js-tags' });
    await fails(run('GetIndex', ref, client('NOBODY')), 'AccessDeniedException', 403);
  },
  async signatures() {
    await fails(run('ListVectorBuckets', {}, client('STRANGER')), 'UnrecognizedClientException', 403);
    await fails(run('ListVectorBuckets', {}, client('ADMIN', 1, 'wrong-secret')), 'InvalidSignatureException', 403);
  },
  async retries() {
    for (const [status, code] of [[429, 'TooManyRequestsException'], [503, 'ServiceUnavailableException']]) {
      await fetch(endpoint + '/_fault', { method: 'POST', body: JSON.stringify({ status, code, times: 2 }) });
      await run('ListVectorBuckets', {}, client('ADMIN', 5));
      assert.strictEqual(await (await fetch(endpoint + '/_fault')).text(), '3');
    }
  },
};

(async () => {
  let failed = 0;
  for (const [name, test] of Object.entries(cases)) {
    try {
      await test();
      console.log('ok  ', name);
    } catch (e) {
      failed++;
      console.log('FAIL', name, e.stack);
    }
  }
  process.exit(failed ? 1 : 0);
})();
