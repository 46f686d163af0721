// Verity-beam runs "verity eval" on a cluster, or in this process: the pipeline of
// package pipeline on any runner of Apache Beam.
//
// It is one program with three roles. Started by a user, it builds the pipeline, hands
// it to a runner and reports the score. Started by a runner or by the boot program of
// Beam's containers, it is a worker. With --worker_pool it is a service that starts
// workers, one process for each that a runner asks for.
package main
