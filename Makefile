# What CI does, by the same commands. A JDK 25 is found beside the default one (tools/java-home).
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

# Quiet but for the results of tests and for errors.
MVN := home=$$(tools/java-home) && JAVA_HOME=$$home mvn -B -ntp
SHOW := 2>&1 | grep --line-buffered -vE '^(\[WARNING\](  *\*| *$$|.*thread-safe|.*maven-toolchains-plugin|.*Enable debug to see)|\[INFO\]( *$$|[ -]*<|[ -]*[-]{8}|.*(--- |Copying|Nothing to compile|skip non existing|os\.detected|Toolchain|Using auto|Compiling|Changes detected|Recompiling|Building jar|Results:|T E S T S|Found [0-9]+ possible))|WARNING: .*(Unsafe|consider reporting))'
IN_RULES := -Dtest='**/rules/*Test' -Dsurefire.failIfNoSpecifiedTests=false

# System tests run the Cairn that was just packaged.
it quick test crash sim soak: export CAIRN_NO_BUILD := 1

MINUTES ?= 10
SEEDS ?= 300
# Which part of the system tests `test` has beside those that it always has, or all. By the commit, so that CI comes to each.
TEST_PARTS := 1 2 3 4 5 6 7 8
PART ?= $(shell echo $$((0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0) % $(words $(TEST_PARTS)) + 1)))
STORE_SEEDS ?= 4

.PHONY: help setup fmt check unit it quick test crash sim soak bench bench-rocks bench-apply docs package image clean

help:
	@echo 'make setup   install what a fresh Debian 12 lacks (root)'
	@echo 'make fmt     format all Java sources'
	@echo 'make check   format, Error Prone, architecture and tidiness'
	@echo 'make unit    tests beside the code'
	@echo 'make it      system tests: real mounts and processes (root, /dev/fuse)'
	@echo 'make quick   it without the classes tagged slow, about a third of the time'
	@echo 'make test    check + unit + it, as CI runs them: of most system tests an eighth, by the commit; PART=all for all'
	@echo 'make crash   50 kills of everything and 10 power cuts under load'
	@echo 'make sim     SEEDS=n runs of a whole cluster in simulated time, STORE_SEEDS=n on real stores; SEED=n repeats one, or is the first of SEEDS'
	@echo 'make soak    MINUTES=n of random work on two mounts while servers are killed; SEED=n repeats it'
	@echo 'make bench   compare with the local file system, see docs/benchmarks.md'
	@echo 'make bench-rocks  the RocksDB presets under the MDS, FILES=n names, ROUNDS=n'
	@echo 'make bench-apply  what an operation costs the applying thread of an MDS, FILES=n, ROUNDS=n'
	@echo 'make package cli/target/cairn.tar.gz, to be unpacked where Cairn is to run'
	@echo 'make image   the image cairn for docker and podman, out of that, see docker/README.md'
	@echo 'make docs    write docs/configuration.md, docs/metrics.md and config/*.toml from the code'

setup:
	.ci/setup

fmt:
	@$(MVN) -q spotless:apply

check:
	@$(MVN) spotless:check test $(IN_RULES) $(SHOW)

unit: can-mount
	@$(MVN) -pl '!src' test $(SHOW)

it: can-mount
	@$(MVN) -pl src -am -Dskip.unit=true -Dskip.system=false verify $(SHOW)

quick: can-mount
	@$(MVN) -pl src -am -Dskip.unit=true -Dskip.system=false -DexcludedGroups=slow verify $(SHOW)

# One Maven run, so that nothing is compiled twice: format, compile, unit tests, rules, packages, system tests. Two modules
# side by side: tests of elections mostly wait. What fails is run again, with the same seed, and named: see CONTRIBUTING.md.
test: can-mount
	@part=$(PART); case " $(TEST_PARTS) all " in *" $$part "*) ;; *) echo "PART=$$part: one of $(TEST_PARTS), or all" >&2; exit 2 ;; esac; \
	others=$$([ $$part = all ] || printf ',part-%s' $(TEST_PARTS) | sed "s/,part-$$part//"); \
	echo "System tests: part $$part of $(TEST_PARTS) (make test PART=all has them all)"; \
	$(MVN) -T 2 -Dskip.system=false -DexcludedGroups="$${others#,}" -Dsurefire.rerunFailingTestsCount=1 -Dsurefire.failOnFlakeCount=3 spotless:check verify $(SHOW)

# These live for long: with everything the JVM has.
crash soak: export CAIRN_JAVA_OPTS :=

# What `test` does a few rounds of: 50 times kill -9 of everything, 10 power cuts, 5 rounds of machines. About 40 minutes.
crash: can-mount
	@$(MVN) -pl src -am -Dskip.unit=true -Dskip.system=false -Dtest='KillTest,PowerTest' -Dsurefire.failIfNoSpecifiedTests=false \
	    -Dcairn.test.kills=40 -Dcairn.test.kills.processes=10 -Dcairn.test.powercuts=5 \
	    -Dcairn.test.powercuts.machines=5 verify $(SHOW)

# The state machines of a whole cluster in simulated time; 300 seeds of it, and 4 on stores and logs, are part of `test`.
sim:
	@$(MVN) -pl src -am -Dskip.unit=true -Dskip.system=false -Dtest=ClusterSimTest -Dsurefire.failIfNoSpecifiedTests=false \
	    -Dcairn.test.seeds=$(SEEDS) -Dcairn.test.store.seeds=$(STORE_SEEDS) $(if $(SEED),-Dcairn.test$(if $(filter-out file,$(origin SEEDS)),.first).seed=$(SEED)) verify $(SHOW)

# Random work of several processes against a model; two minutes of it are part of `test`.
soak: can-mount
	@$(MVN) -pl src -am -Dskip.unit=true -Dskip.system=false -Dtest=SoakTest -Dsurefire.failIfNoSpecifiedTests=false \
	    -Dcairn.test.soak.minutes=$(MINUTES) $(if $(SEED),-Dcairn.test.seed=$(SEED)) verify $(SHOW)

bench:
	bench/run

# Creates, lists and deletes names with each preset, in the state machine of the MDS.
bench-rocks:
	@$(MVN) -q -pl mds -am test -Dtest=RocksPresetBench -Dsurefire.failIfNoSpecifiedTests=false \
	    -Dcairn.bench.files=$(or $(FILES),200000) -Dcairn.bench.rounds=$(or $(ROUNDS),3) $(SHOW)

# One thread, one operation after another, compiled as a server is.
bench-apply:
	@$(MVN) -q -pl mds -am test -Dtest=ApplyBench -Dsurefire.failIfNoSpecifiedTests=false -Dtest.compiler= \
	    -Dcairn.bench.files=$(or $(FILES),20000) -Dcairn.bench.rounds=$(or $(ROUNDS),5) $(SHOW)

docs:
	@$(MVN) -q -pl src -am test -Dtest=GeneratedDocsTest -Dsurefire.failIfNoSpecifiedTests=false -Dcairn.docs.write=true

# What the launcher needs, in its places, and the manual.
package:
	@./cairn version
	@tar -C . --exclude=docker/config --transform 's,^cli/target/THIRD,THIRD,;s,^,cairn/,' -czf cli/target/cairn.tar.gz.$$$$ \
	    cairn tools/java-home tools/mount.cairn LICENSE cli/target/THIRD-PARTY.txt README.md CONTRIBUTING.md CHANGELOG.md \
	    config docs docker \
	    cli/target/classpath cli/target/lib cli/target/cairn-cli-*.jar && mv cli/target/cairn.tar.gz.$$$$ cli/target/cairn.tar.gz
	@echo cli/target/cairn.tar.gz

image: package
	@docker/image

clean:
	@$(MVN) -q clean

.PHONY: can-mount
can-mount:
	@[ "$$(id -u)" = 0 ] || { echo 'system tests mount file systems: run them as root' >&2; exit 1; }
	@[ -c /dev/fuse ] || { echo 'system tests need /dev/fuse: modprobe fuse, or give the container the device' >&2; exit 1; }
	@for tool in fusermount3 fio git gcc sqlite3 getfattr getfacl mkfs.xfs xfs_io mkfs.ext4 python3 ip unshare; do \
	    command -v $$tool >/dev/null || { echo "system tests need $$tool: make setup" >&2; exit 1; }; done
	@[ -n "$$(ldconfig -p | grep -F libfuse.so.2)" ] || { echo 'system tests need libfuse.so.2: make setup' >&2; exit 1; }
