package s3vectors

import "context"

// operation is one operation of the API.
type operation struct {
	name    string
	members members // of its body; nil for none
	creates bool    // a bucket or index
	tags    bool    // its path is that of a resource's tags
	// check adds the constraints of the model that a request breaks.
	check func(h *Handler, q *request, v *violations)
	// target finds the resource; nil for none.
	target func(h *Handler, q *request) error
	// run does it and returns the JSON of the answer.
	run func(h *Handler, ctx context.Context, c *call) ([]byte, error)
}

// emptyAnswer is the answer of operations that have none.
var emptyAnswer = []byte("{}")

func checkNames(_ *Handler, q *request, v *violations) { v.names(q) }

// operations are those with a path of their own, by name.
var operations = byName(
	&operation{name: "CreateVectorBucket", creates: true, check: checkCreateBucket, target: (*Handler).newBucketTarget, run: (*Handler).createBucket,
		members: with(bucketRef, creation)},
	&operation{name: "GetVectorBucket", members: bucketRef, check: checkNames, target: (*Handler).bucketTarget, run: (*Handler).getBucket},
	&operation{name: "ListVectorBuckets", members: with(paging, prefixed), check: checkListing, run: (*Handler).listBuckets},
	&operation{name: "DeleteVectorBucket", members: bucketRef, check: checkNames, target: (*Handler).bucketTarget, run: (*Handler).deleteBucket},

	&operation{name: "PutVectorBucketPolicy", members: with(bucketRef, members{"policy": text(func(q *request) **string { return &q.policy })}),
		check: checkPutPolicy, target: (*Handler).bucketTarget, run: (*Handler).putPolicy},
	&operation{name: "GetVectorBucketPolicy", members: bucketRef, check: checkNames, target: (*Handler).bucketTarget, run: (*Handler).getPolicy},
	&operation{name: "DeleteVectorBucketPolicy", members: bucketRef, check: checkNames, target: (*Handler).bucketTarget, run: (*Handler).deletePolicy},

	&operation{name: "CreateIndex", creates: true, members: with(bucketRef, creation, indexShape), check: checkCreateIndex, target: (*Handler).newIndexTarget,
		run: (*Handler).createIndex},
	&operation{name: "GetIndex", members: indexRef, check: checkNames, target: (*Handler).indexTarget, run: (*Handler).getIndex},
	&operation{name: "ListIndexes", members: with(bucketRef, paging, prefixed), check: checkListing, target: (*Handler).bucketTarget, run: (*Handler).listIndexes},
	&operation{name: "DeleteIndex", members: indexRef, check: checkNames, target: (*Handler).indexTarget, run: (*Handler).deleteIndex},

	&operation{name: "PutVectors", members: with(indexRef, members{"vectors": readVectors}), check: checkPutVectors, target: (*Handler).indexTarget, run: (*Handler).putVectors},
	&operation{name: "GetVectors", members: with(indexRef, returned, members{"keys": readKeys}), check: checkGetVectors, target: (*Handler).indexTarget, run: (*Handler).getVectors},
	&operation{name: "DeleteVectors", members: with(indexRef, members{"keys": readKeys}), check: checkDeleteVectors, target: (*Handler).indexTarget, run: (*Handler).deleteVectors},
	&operation{name: "ListVectors", members: with(indexRef, returned, paging, segments), check: checkListVectors, target: (*Handler).indexTarget, run: (*Handler).listVectors},
	&operation{name: "QueryVectors", members: with(indexRef, querying), check: checkQueryVectors, target: (*Handler).indexTarget, run: (*Handler).queryVectors},
)

// tagOperations are those on /tags/{arn}, by method.
var tagOperations = map[string]*operation{
	"GET":    {name: "ListTagsForResource", tags: true, check: checkTagTarget, target: (*Handler).tagTarget, run: (*Handler).listTags},
	"POST":   {name: "TagResource", tags: true, members: members{"tags": readTags}, check: checkTagResource, target: (*Handler).tagTarget, run: (*Handler).tagResource},
	"DELETE": {name: "UntagResource", tags: true, check: checkUntag, target: (*Handler).tagTarget, run: (*Handler).untagResource},
}

func byName(list ...*operation) map[string]*operation {
	all := map[string]*operation{}
	for _, op := range list {
		all[op.name] = op
	}
	return all
}
