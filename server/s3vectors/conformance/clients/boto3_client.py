"""boto3 against a live server: every operation, every kind of error, pages and limits."""

import json
import math
import os
import struct
import sys
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = os.environ["AWS_ENDPOINT_URL_S3VECTORS"]
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"]
ACCOUNT = "arn:aws:s3vectors:us-east-1:000000000000:bucket/"


def client(key="ADMIN", secret=SECRET, attempts=1, **more):
    return boto3.client(
        "s3vectors", aws_access_key_id=key, aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": attempts, "mode": "standard"}), **more)


c = client()
CASES = []


def case(f):
    CASES.append(f)
    return f


def fails(code, status, call, message=None, field=None, **args):
    """The call fails with a code, a status and, where given, a message and a field."""
    try:
        call(**args)
    except ClientError as e:
        r = e.response
        assert r["Error"]["Code"] == code, r
        assert r["ResponseMetadata"]["HTTPStatusCode"] == status, r
        assert r["ResponseMetadata"]["RequestId"], r
        if message is not None:
            assert r["Error"]["Message"] == message, r
        if field is not None:
            assert [f["path"] for f in r["fieldList"]] == [field], r
        return r
    raise AssertionError(f"it did not fail with {code}")


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def fresh(name, metric="cosine", dimension=3, **more):
    c.create_vector_bucket(vectorBucketName=name)
    c.create_index(vectorBucketName=name, indexName="index", dataType="float32", dimension=dimension, distanceMetric=metric, **more)
    return {"vectorBucketName": name, "indexName": "index"}


def vec(key, data, metadata=None):
    v = {"key": key, "data": {"float32": data}}
    if metadata is not None:
        v["metadata"] = metadata
    return v


@case
def buckets():
    arn = c.create_vector_bucket(vectorBucketName="first-one", tags={"a": "b"})["vectorBucketArn"]
    assert arn == ACCOUNT + "first-one"
    fails("ConflictException", 409, c.create_vector_bucket, "A vector bucket with the specified name already exists", vectorBucketName="first-one")
    for ref in ({"vectorBucketName": "first-one"}, {"vectorBucketArn": arn}):
        b = c.get_vector_bucket(**ref)["vectorBucket"]
        assert b["encryptionConfiguration"] == {"sseType": "AES256"} and b["creationTime"].year >= 2024, b
    fails("ValidationException", 400, c.get_vector_bucket, "Must specify either vectorBucketName or vectorBucketArn but not both")
    fails("ValidationException", 400, c.create_vector_bucket, "1 validation error detected. Value with length 64 at '/vectorBucketName' failed to satisfy constraint: "
          "Member must have length between 3 and 63, inclusive", "/vectorBucketName", vectorBucketName="x" * 64)
    fails("ValidationException", 400, c.create_vector_bucket, "Invalid vector bucket name", vectorBucketName="Bad_Name")
    c.delete_vector_bucket(vectorBucketArn=arn)
    fails("NotFoundException", 404, c.get_vector_bucket, "The specified vector bucket could not be found", vectorBucketArn=arn)
    fails("NotFoundException", 404, c.delete_vector_bucket, vectorBucketName="first-one")


@case
def bucket_pages():
    names = [f"paged-{i}" for i in range(5)]
    for n in names:
        c.create_vector_bucket(vectorBucketName=n)
    pages = list(c.get_paginator("list_vector_buckets").paginate(prefix="paged-", PaginationConfig={"PageSize": 2}))
    assert [b["vectorBucketName"] for p in pages for b in p["vectorBuckets"]] == names and len(pages) == 3
    assert c.list_vector_buckets(prefix="none-such")["vectorBuckets"] == []


@case
def indexes():
    ref = fresh("indexed", metadataConfiguration={"nonFilterableMetadataKeys": ["text"]})
    arn = ACCOUNT + "indexed/index/index"
    ix = c.get_index(indexArn=arn)["index"]
    assert (ix["dimension"], ix["distanceMetric"], ix["dataType"], ix["indexArn"]) == (3, "cosine", "float32", arn), ix
    assert ix["metadataConfiguration"] == {"nonFilterableMetadataKeys": ["text"]} and ix["encryptionConfiguration"] == {"sseType": "AES256"}
    make = dict(ref, dataType="float32", dimension=3, distanceMetric="cosine")
    fails("ConflictException", 409, c.create_index, "An index with the specified name already exists", **make)
    fails("NotFoundException", 404, c.create_index, "The specified vector bucket could not be found", **dict(make, vectorBucketName="nowhere"))
    fails("NotFoundException", 404, c.get_index, "The specified index could not be found", vectorBucketName="nowhere", indexName="index")
    fails("ValidationException", 400, c.create_index, "1 validation error detected. Value at '/dimension' failed to satisfy constraint: "
          "Member must be between 1 and 4096, inclusive", "/dimension", **dict(make, indexName="other", dimension=4097))
    fails("ValidationException", 400, c.create_index, "1 validation error detected. Value at '/distanceMetric' failed to satisfy constraint: "
          "Member must satisfy enum value set: [euclidean, cosine]", **dict(make, indexName="other", distanceMetric="dot"))
    fails("ValidationException", 400, c.create_index, "kmsKeyArn must be specified when sseType is set to aws:kms", "EncryptionConfiguration",
          **dict(make, indexName="other", encryptionConfiguration={"sseType": "aws:kms"}))
    fails("ValidationException", 400, c.get_index, "Must specify either indexArn or both vectorBucketName and indexName", vectorBucketName="indexed", indexArn=arn)
    assert [i["indexName"] for i in c.list_indexes(vectorBucketName="indexed")["indexes"]] == ["index"]
    fails("ConflictException", 409, c.delete_vector_bucket, "The specified vector bucket is not empty", vectorBucketName="indexed")
    c.delete_index(**ref)
    fails("NotFoundException", 404, c.delete_index, **ref)


@case
def vectors():
    ref = fresh("vectors")
    key = "ключ 鍵 😀 \"q\" \\ /"
    meta = {"s": "é😀\u0001", "n": 1.5, "i": 9007199254740993, "b": True, "l": ["a", "b"], "m": [1, 2.5], "": "", "$x": 1, "a.b": False}
    c.put_vectors(**ref, vectors=[vec(key, [0.1, 1, -2.5e-9], meta), vec("plain", [1, 2, 3])])
    got = {v["key"]: v for v in c.get_vectors(**ref, keys=[key, "plain", "none", key], returnData=True, returnMetadata=True)["vectors"]}
    assert set(got) == {key, "plain"}
    assert got[key]["data"]["float32"] == [f32(0.1), 1, f32(-2.5e-9)], got[key]
    assert got[key]["metadata"] == meta and got["plain"]["metadata"] == {}, got
    bare = c.get_vectors(**ref, keys=["plain"])["vectors"]
    assert bare == [{"key": "plain"}], bare
    c.delete_vectors(**ref, keys=[key, "none"])
    assert c.get_vectors(**ref, keys=[key])["vectors"] == []


@case
def bad_records():
    ref = fresh("bad-records")

    def bad(message, field, *args):
        fails("ValidationException", 400, c.put_vectors, message, field, **ref, vectors=[vec("fine", [1, 1, 1]), vec("bad", *args)])

    prefix = "Invalid record for key 'bad': "
    for x in (math.nan, math.inf, -math.inf, 1e39):
        bad(prefix + "vector contains NaNs or Infs", "vectors[1]", [x, 1, 1])
    bad(prefix + "vector must have length 3, but has length 2", "vectors[1]", [1, 2])
    bad(prefix + "cosine distance does not support vectors with zero norm", "vectors[1]", [0, 0.0, 1e-46])
    bad(prefix + "Metadata values must be strings, numbers, booleans, or arrays", "vectors[1].metadata", [1, 1, 1], {"a": {"b": 1}})
    bad(prefix + "Empty arrays are not allowed in metadata", "vectors[1].metadata", [1, 1, 1], {"a": []})
    bad(prefix + "Filterable metadata must have at most 2048 bytes", "vectors[1].metadata", [1, 1, 1], {"f": "x" * 2036})
    bad(prefix + "Metadata object must have at most 50 keys", "vectors[1].metadata", [1, 1, 1], {f"k{i}": 1 for i in range(51)})
    assert c.get_vectors(**ref, keys=["fine"])["vectors"] == []
    # boto3 writes this as the bare word Infinity, which is no JSON.
    fails("SerializationException", 400, c.put_vectors, **ref, vectors=[vec("a", [1, 1, 1], {"x": math.inf})])
    fails("ValidationException", 400, c.put_vectors, "Request must not contain duplicate keys", **ref, vectors=[vec("a", [1, 1, 1])] * 2)
    fails("ValidationException", 400, c.put_vectors, "Record key length exceeds the maximum allowed", **ref, vectors=[vec("中" * 342, [1, 1, 1])])
    fails("ValidationException", 400, c.put_vectors, None, "/vectors", **ref, vectors=[vec(str(i), [1, 1, 1]) for i in range(501)])
    fails("ValidationException", 400, c.get_vectors, None, "/keys", **ref, keys=[str(i) for i in range(101)])
    c.put_vectors(**ref, vectors=[vec("k" * 1024, [1, 1, 1], {"f": "é" * 1017}), vec("中" * 341, [1, 1, 1])])


@case
def queries():
    ref = fresh("queries", metadataConfiguration={"nonFilterableMetadataKeys": ["text"]})
    c.put_vectors(**ref, vectors=[vec("same", [1, 0, 0], {"n": 1, "g": "a"}), vec("scaled", [5, 0, 0], {"n": 2, "g": "b", "text": "t"}),
                                  vec("orth", [0, 1, 0], {"n": 3, "g": ["a", "b"]}), vec("opp", [-1, 0, 0])])
    r = c.query_vectors(**ref, topK=10, queryVector={"float32": [1, 0, 0]}, returnDistance=True, returnMetadata=True)
    assert [(v["key"], v["distance"]) for v in r["vectors"]] == [("same", 0), ("scaled", 0), ("orth", 1), ("opp", 2)], r
    assert r["distanceMetric"] == "cosine" and r["vectors"][3]["metadata"] == {}

    def keys(f):
        return [v["key"] for v in c.query_vectors(**ref, topK=10, queryVector={"float32": [1, 0, 0]}, filter=f)["vectors"]]

    for f, want in (({"n": 2}, ["scaled"]), ({"n": {"$gte": 2, "$lt": 3}}, ["scaled"]), ({"g": "a"}, ["same", "orth"]), ({"g": {"$in": ["b", 7]}}, ["scaled", "orth"]),
                    ({"$or": [{"n": 1}, {"n": {"$exists": False}}]}, ["same", "opp"]), ({"$and": [{"g": "a"}, {"n": {"$ne": 1}}]}, ["orth"]), ({"n": "2"}, []),
                    ({"n": {"$nin": [1, 2, 3]}}, ["opp"])):
        assert keys(f) == want, (f, keys(f))
    for f in ({}, {"a": 1, "b": 2}, {"n": {"$regex": "x"}}, {"n": None}, {"$and": []}):
        fails("ValidationException", 400, keys, "Invalid filter", "filter", f=f)
    fails("ValidationException", 400, keys, "Invalid use of non-filterable metadata in filter", f={"text": "t"})
    text = "Query vector contains invalid values or is invalid for this index"
    for q in ([0, 0, 0], [1], [math.nan, 1, 1]):
        fails("ValidationException", 400, c.query_vectors, text, "vector", **ref, topK=1, queryVector={"float32": q})
    fails("ValidationException", 400, c.query_vectors, None, "/topK", **ref, topK=10001, queryVector={"float32": [1, 0, 0]})


@case
def euclidean():
    ref = fresh("euclidean", metric="euclidean")
    c.put_vectors(**ref, vectors=[vec("a", [1, 1, 1]), vec("zero", [0, 0, 0])])
    r = c.query_vectors(**ref, topK=1, queryVector={"float32": [2, 2, 2]}, returnDistance=True)
    assert r["vectors"] == [{"distance": 3.0, "key": "a"}] and r["distanceMetric"] == "euclidean", r


@case
def listing_and_segments():
    ref = fresh("listing")
    want = {f"key-{i}-é" for i in range(600)}
    for part in range(2):
        c.put_vectors(**ref, vectors=[vec(f"key-{i}-é", [1, i, 0], {"i": i}) for i in range(300 * part, 300 * part + 300)])
    pager = c.get_paginator("list_vectors")
    got = [v["key"] for p in pager.paginate(**ref, PaginationConfig={"PageSize": 77}) for v in p["vectors"]]
    assert len(got) == 600 and set(got) == want
    assert len(c.list_vectors(**ref)["vectors"]) == 500
    for n in (1, 4, 16):
        got = [v for s in range(n) for p in pager.paginate(**ref, segmentCount=n, segmentIndex=s, returnData=True, returnMetadata=True) for v in p["vectors"]]
        assert len(got) == 600 and {v["key"] for v in got} == want and all("data" in v and "metadata" in v for v in got)
    fails("ValidationException", 400, c.list_vectors, **ref, nextToken="garbage")
    fails("ValidationException", 400, c.list_vectors, **ref, segmentCount=2, segmentIndex=2)
    # More results than an answer holds: newer clients page, others see the first page.
    query = dict(ref, topK=600, queryVector={"float32": [1, 0, 0]}, returnMetadata=True)
    if c.can_paginate("query_vectors"):
        pages = list(c.get_paginator("query_vectors").paginate(**query))
        assert [v["metadata"]["i"] for p in pages for v in p["vectors"]] == list(range(600))
    assert len(c.query_vectors(**dict(query, returnMetadata=False, topK=10000))["vectors"]) == 600


@case
def tags():
    fresh("tagged")
    for arn, missing in ((ACCOUNT + "tagged", ACCOUNT + "none"), (ACCOUNT + "tagged/index/index", ACCOUNT + "tagged/index/none")):
        assert c.list_tags_for_resource(resourceArn=arn)["tags"] == {}
        c.tag_resource(resourceArn=arn, tags={"a b": "1", "c/d+e": "é", "x": ""})
        c.tag_resource(resourceArn=arn, tags={"x": "2"})
        c.untag_resource(resourceArn=arn, tagKeys=["a b", "none"])
        assert c.list_tags_for_resource(resourceArn=arn)["tags"] == {"c/d+e": "é", "x": "2"}
        fails("ValidationException", 400, c.tag_resource, "Too many tags specified", resourceArn=arn, tags={f"t{i}": "" for i in range(51)})
        fails("ValidationException", 400, c.tag_resource, "System tags cannot be added/updated by requester", resourceArn=arn, tags={"aws:x": ""})
        fails("ValidationException", 400, c.tag_resource, None, "/tags/team", resourceArn=arn, tags={"team": "a\tb"})
        fails("NotFoundException", 404, c.list_tags_for_resource, resourceArn=missing)


@case
def policies_and_roles():
    ref = fresh("guarded")
    fails("NotFoundException", 404, c.get_vector_bucket_policy, "The specified vector bucket policy could not be found", vectorBucketName="guarded")
    nobody = client("NOBODY")
    fails("AccessDeniedException", 403, nobody.get_index, **ref)
    fails("AccessDeniedException", 403, client("READER").put_vectors, **ref, vectors=[vec("a", [1, 1, 1])])
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:user/nobody"},
                                                                 "Action": ["s3vectors:Get*", "s3vectors:QueryVectors"], "Resource": ACCOUNT + "guarded/*"}]})
    c.put_vector_bucket_policy(vectorBucketName="guarded", policy=policy)
    assert json.loads(c.get_vector_bucket_policy(vectorBucketName="guarded")["policy"]) == json.loads(policy)
    nobody.get_index(**ref)
    fails("AccessDeniedException", 403, nobody.list_vectors, **ref)
    c.delete_vector_bucket_policy(vectorBucketName="guarded")
    fails("AccessDeniedException", 403, nobody.get_index, **ref)
    fails("ValidationException", 400, c.put_vector_bucket_policy, vectorBucketName="guarded", policy="{}")


@case
def signatures():
    fails("UnrecognizedClientException", 403, client("STRANGER").list_vector_buckets)
    fails("InvalidSignatureException", 403, client(secret="wrong-secret").list_vector_buckets)
    fails("UnrecognizedClientException", 403, client(aws_session_token="made-up").list_vector_buckets)
    client(region_name="eu-west-1").list_vector_buckets()


@case
def large_bodies():
    ref = fresh("large", dimension=4096)
    c.put_vectors(**ref, vectors=[vec(str(i), [(i * j % 1000) / 997 + 0.001 for j in range(4096)]) for i in range(200)])
    fails("ValidationException", 400, c.put_vectors, "Request body exceeds max allowed size", **ref,
          vectors=[vec(str(i), [0.12345678901234567] * 4096) for i in range(300)])


@case
def retries():
    for status, code in ((429, "TooManyRequestsException"), (503, "ServiceUnavailableException")):
        fault = json.dumps({"status": status, "code": code, "times": 2}).encode()
        urllib.request.urlopen(urllib.request.Request(ENDPOINT + "/_fault", data=fault, method="POST")).read()
        client(attempts=5).list_vector_buckets()
        assert urllib.request.urlopen(ENDPOINT + "/_fault").read() == b"3"


failed = 0
for run in CASES:
    try:
        run()
        print("ok  ", run.__name__)
    except Exception as e:  # the other cases are run all the same
        failed += 1
        print("FAIL", run.__name__, type(e).__name__, e)
sys.exit(1 if failed else 0)
