#!/bin/sh
# The proof of cluster.sh on Flink: a job manager, two task managers and Beam's job
# server, each a process of its own on this machine. It is Flink that tries again:
# verity-beam starts the job once.
#
#   cmd/verity-beam/flink/flink.sh VERITY VERITY-BEAM
#
# It needs Java and Maven, which fetches Flink and the job server (pom.xml).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
MANAGER=50580 REST=50581 JOBS=50582
skip() {
	echo "*** SKIPPED: $1: nothing was run on Flink ***"
	exit 0
}
command -v java >/dev/null || skip "there is no java"
command -v mvn >/dev/null || skip "there is no mvn"

work=$(mktemp -d)
children=
finish() {
	for pid in $children; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$work"
}
trap finish EXIT INT TERM
mvn -B -q -f "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$work/classpath" >"$work/mvn.log" 2>&1 || {
	grep ERROR "$work/mvn.log" | head -n 2
	skip "Maven cannot fetch Flink"
}

# Flink's own scripts work the memory out; the processes want every part by name.
mkdir "$work/conf" "$work/tmp"
cat >"$work/conf/flink-conf.yaml" <<CONF
jobmanager.rpc.address: localhost
jobmanager.rpc.port: $MANAGER
jobmanager.bind-host: localhost
rest.address: localhost
rest.bind-address: localhost
rest.port: $REST
taskmanager.host: localhost
taskmanager.bind-host: localhost
taskmanager.numberOfTaskSlots: 1
taskmanager.cpu.cores: 1
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
taskmanager.memory.task.heap.size: 256m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.network.min: 128m
taskmanager.memory.network.max: 128m
taskmanager.memory.managed.size: 64m
akka.startup-timeout: 60 s
akka.ask.timeout: 60 s
heartbeat.timeout: 300000
io.tmp.dirs: $work/tmp
classloader.resolve-order: parent-first
restart-strategy: fixed-delay
restart-strategy.fixed-delay.attempts: 5
restart-strategy.fixed-delay.delay: 1 s
CONF

# start NAME CLASS ARGUMENTS... runs a class of Flink or Beam. Flink reflects on classes
# that Java has closed since version 17.
start() {
	name=$1
	shift
	java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir="$work/tmp" -cp "$(cat "$work/classpath")" \
		--add-exports=java.base/sun.net.util=ALL-UNNAMED \
		--add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.lang.reflect=ALL-UNNAMED \
		--add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/java.util.concurrent=ALL-UNNAMED \
		--add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/java.net=ALL-UNNAMED \
		--add-opens=java.base/java.io=ALL-UNNAMED --add-opens=java.base/java.time=ALL-UNNAMED \
		"$@" >"$work/$name.log" 2>&1 &
	children="$children $!"
}
# await WHAT COMMAND... waits for a command to succeed: two minutes at most, and not when a
# process has ended.
await() {
	what=$1 n=0
	shift
	until "$@"; do
		n=$((n + 1))
		for pid in $children; do kill -0 "$pid" 2>/dev/null || n=120; done
		[ $n -lt 120 ] || {
			echo "flink.sh: there is no $what"
			grep -h -A 1 'ERROR\|^Caused' "$work"/*.log | head -n 20
			exit 1
		}
		sleep 1
	done
}
# field NAME PATH prints a number of Flink's REST interface.
field() { curl -sf "http://localhost:$REST/$2" | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d: -f2; }
has_both() { [ "$(field taskmanagers overview)" = 2 ]; }
has_jobs() { grep -q 'JobService started' "$work/server.log"; }

start manager org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint --configDir "$work/conf"
for i in 1 2; do start "task$i" org.apache.flink.runtime.taskexecutor.TaskManagerRunner --configDir "$work/conf"; done
start server org.apache.beam.runners.flink.FlinkJobServerDriver --flink-master "localhost:$REST" --job-host localhost \
	--job-port $JOBS --artifact-port 0 --expansion-port 0 --artifacts-dir "$work/artifacts"
await "second task manager" has_both
await "job server" has_jobs

ENDPOINT=localhost:$JOBS WORKERS=2 BEAM="--parallelism 2 --attempts 1" "$here/../cluster.sh" "$1" "$2"
curl -sf "http://localhost:$REST/jobs/overview" | grep -o '"state":"[A-Z]*"' >"$work/jobs"
restarts=$(grep -c 'RUNNING to RESTARTING' "$work/manager.log" || true)
[ "$(cat "$work/jobs")" = '"state":"FINISHED"' ] && [ "$restarts" -ge 1 ] || {
	echo "flink.sh: want one job of Flink, finished after it was started again; got $restarts restarts of:"
	cat "$work/jobs"
	exit 1
}
echo "one job of Flink, started again $restarts times, finished on two task managers"
