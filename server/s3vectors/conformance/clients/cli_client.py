"""The AWS CLI against a live server. Its name is the first argument."""

import json
import subprocess
import sys

AWS = sys.argv[1]
ARN = "arn:aws:s3vectors:us-east-1:000000000000:bucket/cli-bucket"


def aws(*args, code=None, **members):
    """Run one operation; with code, it must fail with it."""
    command = [AWS, "s3vectors", args[0], "--output", "json"]
    for name, value in members.items():
        command += ["--" + name.replace("_", "-")] + ([] if value is True else [value if isinstance(value, str) else json.dumps(value)])
    done = subprocess.run(command, capture_output=True, text=True)
    if code is not None:
        assert done.returncode != 0 and f"({code})" in done.stderr, (command, done)
        return done.stderr
    assert done.returncode == 0, (command, done.stderr)
    return json.loads(done.stdout) if done.stdout.strip() else {}


where = {"vector_bucket_name": "cli-bucket", "index_name": "index"}
aws("create-vector-bucket", vector_bucket_name="cli-bucket")
aws("create-vector-bucket", vector_bucket_name="cli-bucket", code="ConflictException")
aws("create-index", **where, data_type="float32", dimension="2", distance_metric="cosine", metadata_configuration={"nonFilterableMetadataKeys": ["text"]})
assert aws("get-index", **where)["index"]["dimension"] == 2
assert len(aws("list-indexes", vector_bucket_name="cli-bucket")["indexes"]) == 1
assert aws("get-vector-bucket", vector_bucket_arn=ARN)["vectorBucket"]["vectorBucketName"] == "cli-bucket"
assert any(b["vectorBucketName"] == "cli-bucket" for b in aws("list-vector-buckets")["vectorBuckets"])

aws("put-vectors", **where, vectors=[{"key": "é/1", "data": {"float32": [1, 0]}, "metadata": {"n": 1}}, {"key": "b", "data": {"float32": [0, 1]}}])
assert aws("get-vectors", **where, keys=["é/1"], return_data=True, return_metadata=True)["vectors"] == [{"key": "é/1", "data": {"float32": [1.0, 0.0]}, "metadata": {"n": 1}}]
found = aws("query-vectors", **where, top_k="5", query_vector={"float32": [1, 0]}, filter={"n": {"$gte": 1}}, return_distance=True)
assert found["vectors"] == [{"distance": 0.0, "key": "é/1"}] and found["distanceMetric"] == "cosine", found
aws("query-vectors", **where, top_k="5", query_vector={"float32": [1, 0]}, filter={}, code="ValidationException")
assert {v["key"] for v in aws("list-vectors", **where, page_size="1")["vectors"]} == {"é/1", "b"}
aws("delete-vectors", **where, keys=["b"])
aws("put-vectors", **where, vectors=[{"key": "z", "data": {"float32": [0, 0]}}], code="ValidationException")

aws("tag-resource", resource_arn=ARN + "/index/index", tags={"a b": "c/d"})
assert aws("list-tags-for-resource", resource_arn=ARN + "/index/index")["tags"] == {"a b": "c/d"}
aws("untag-resource", resource_arn=ARN + "/index/index", tag_keys=["a b"])
policy = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Principal": "*", "Action": "s3vectors:DeleteVectors", "Resource": "*"}})
aws("put-vector-bucket-policy", vector_bucket_name="cli-bucket", policy=policy)
assert json.loads(aws("get-vector-bucket-policy", vector_bucket_name="cli-bucket")["policy"]) == json.loads(policy)
aws("delete-vectors", **where, keys=["b"], code="AccessDeniedException")
aws("delete-vector-bucket-policy", vector_bucket_name="cli-bucket")
aws("get-vector-bucket-policy", vector_bucket_name="cli-bucket", code="NotFoundException")

aws("delete-vector-bucket", vector_bucket_name="cli-bucket", code="ConflictException")
aws("delete-index", **where)
aws("get-index", **where, code="NotFoundException")
aws("delete-vector-bucket", vector_bucket_name="cli-bucket")
print("ok   all operations")
