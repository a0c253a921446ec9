package plan

import "fmt"

// notes say what the figures leave out and how sure they are.
func (p *Plan) notes() []string {
	r, c := &p.Request, &p.PerQuery
	list := []string{fmt.Sprintf("Reads, KiB and CPU of a query: %s.", c.Source)}
	if r.Own.Reads == 0 {
		list = append(list, fmt.Sprintf("Reads depend on the data: the measured sets take %.1f to %.1f at this recall, "+
			"size and k. Measure your own with sprat calibrate and give --calibration, or with sprat query and give "+
			"--reads, --kib and --cpu-ms.", c.FewestReads, c.MostReads))
	}
	if r.Own.Reads == 0 && r.Metric == "dot" {
		list = append(list, "No set with dot was measured: the figures are those of cosine and euclidean.")
	}
	if r.Own.Reads == 0 && r.K != 10 {
		list = append(list, "Measured at k = 10; what more results take is scaled.")
	}
	list = append(list, p.memoryNote(),
		fmt.Sprintf("Kept back: %.0f %% of IOPS and throughput, %.0f %% of the space, %.0f %% of the processors.",
			100*reserve, 100*freeSpace, 100*(1-busyShare)),
		"Queries only: writes and their maintenance come on top, and so do instances and snapshots. "+
			"An instance has its own limit of IOPS and throughput, often below the volume's.",
		fmt.Sprintf("Prices of %s (%s); check them before you order.", p.Prices.Date, p.Prices.Source))
	if r.MaxVolumes == 1 {
		list = append(list, "One volume for the store; --max-volumes N lets N be striped (md, LVM). "+
			"What a type includes, like the first 3,000 IOPS of gp3, comes with every one of them.")
	}
	for i := range p.Answer().Volumes {
		if v := &p.Answer().Volumes[i]; !v.Reached {
			list = append(list, p.shortfall(v))
		}
	}
	return list
}

func (p *Plan) memoryNote() string {
	if p.Request.Own.Reads > 0 {
		return "Own reads are taken as they are, whatever the memory caches."
	}
	if p.Request.MemoryLimit == 0 {
		return "With the least memory nothing is cached. --memory says how much there is; what is left over caches postings."
	}
	return fmt.Sprintf("The cache holds %.0f %% of the postings, and is taken to save as much of their reads; "+
		"queries that are alike save more.", 100*p.PerQuery.CachedPostings)
}

// shortfall says why a type does not reach the rate and what would.
func (p *Plan) shortfall(v *Reached) string {
	row := p.Answer()
	switch {
	case v.Setting.Volumes > p.Request.MaxVolumes:
		text := fmt.Sprintf("%s: no setting of %d reaches it; %d striped volumes would, or as many replicas of the store",
			v.Type, p.Request.MaxVolumes, v.Setting.Volumes)
		return text + " with the queries divided among them (where the vectors fit one volume)."
	case p.Request.Cores > 0 && v.Ceilings.CPU < row.QPS:
		return fmt.Sprintf("%s: %d cores allow %.0f QPS; it takes %d.", v.Type, p.Request.Cores, v.Ceilings.CPU, row.Cores)
	default:
		return fmt.Sprintf("%s: %d clients that wait for their answers ask %.0f QPS at most; it takes %d.",
			v.Type, p.Request.Clients, v.Ceilings.Clients, v.Clients)
	}
}
