// Verity-beam runs "verity eval" on a cluster, or in this process: the pipeline of
// package pipeline on any runner of Apache Beam.
//
// One program has three roles. Started by a user, it builds the pipeline, submits it to a
// runner and reports the score. Started by a runner, or in a container of Beam, it is a
// worker. With --worker_pool it is a service that starts a worker process for each request
// of a runner.
package main
