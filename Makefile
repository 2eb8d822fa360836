# QueueFS: `make` lists what can be made.

MOUNT ?= ./mnt
ifdef BACKEND
export QUEUEFS_BACKEND := $(BACKEND)
endif

VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet
QUEUEFS := $(BIN)/queuefs

.ONESHELL:
.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
.PHONY: bench help up down test lint docs clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

up: $(VENV)/.installed ## Install what is missing and mount (MOUNT=./mnt, BACKEND=URL, default an SQLite file)
	@mkdir -p '$(MOUNT)' 2>/dev/null || true  # fails on the mount of a daemon that died, which `queuefs mount` clears
	# statfs tells a living mount from a dead one, of which the kernel may remember what it was
	if ! { stat -f '$(MOUNT)' >/dev/null 2>&1 && mountpoint -q '$(MOUNT)'; }; then $(QUEUEFS) mount '$(MOUNT)'; fi
	echo 'QueueFS is mounted. Type next:'
	echo '  mkdir $(MOUNT)/jobs'
	echo '  echo hello > $(MOUNT)/jobs/enqueue'
	echo '  cat $(MOUNT)/jobs/dequeue'

down: $(VENV)/.installed ## Stop the mount (MOUNT=./mnt)
	@$(QUEUEFS) umount '$(MOUNT)'

test: $(VENV)/.tests ## Run every test, with real mounts and a real Redis server (ARGS= for pytest)
	@$(BIN)/python -m pytest $(ARGS) </dev/null

lint: $(VENV)/.lint ## Check style, types and layers
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.tests ## Print the benchmark tables: ratios are worth comparing, figures depend on the machine
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.waiting

docs: $(VENV)/.tests ## Write the reference pages that are made from the code
	@$(BIN)/python -m tests.support.reference

clean: ## Remove what was made here, not the queues
	rm -rf $(VENV) dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The system -----------------------------------------------------------------------------------------------------------

# A Python we can use: 3.11 or newer, with headers (pyfuse3 is compiled here) and venv.
define find_python
usable='import ensurepip, os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 11) or not os.path.exists(header))'
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v $$python >/dev/null && $$python -c "$$usable" 2>/dev/null; then
            echo $$python
            return
        fi
    done
    return 1
}
endef

# apt_install PACKAGE...: installs what is named, as root or by sudo; elsewhere says what is missing.
define apt_install
apt_install() {
    if ! command -v apt-get >/dev/null; then
        echo "make: please install what Debian calls: $$*" >&2
        exit 1
    fi
    as_root=
    if [ "$$(id -u)" != 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || { echo "make: please have root run: apt-get install $$*" >&2; exit 1; }
    fi
    echo "Installing $$*"
    $$as_root apt-get -qq update </dev/null
    $$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$$@" </dev/null >/dev/null
}
endef

$(VENV)/.python:
	@$(find_python)
	$(apt_install)
	missing=
	command -v fusermount3 >/dev/null || missing="$$missing fuse3"
	command -v pkg-config >/dev/null || missing="$$missing pkg-config"
	pkg-config --exists fuse3 2>/dev/null || missing="$$missing libfuse3-dev"
	command -v gcc >/dev/null || missing="$$missing gcc libc6-dev"
	find_python >/dev/null || missing="$$missing python3-dev python3-venv"
	[ -z "$$missing" ] || apt_install $$missing
	find_python >/dev/null || apt_install python3.11-dev python3.11-venv  # where python3 is an older one
	python=$$(find_python) || { echo "make: no Python 3.11 or newer was found" >&2; exit 1; }
	$$python -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'  # which knows dependency groups
	touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.python
	@echo 'Installing QueueFS in $(VENV)'
	$(PIP) install --editable '.[redis]'
	touch $@

# Programs that the tests run: a server, and shells and tools that read and write in their own ways.
$(VENV)/.tests: $(VENV)/.installed
	@$(apt_install)
	missing=
	command -v busybox >/dev/null || missing="$$missing busybox"
	command -v dash >/dev/null || missing="$$missing dash"
	command -v perl >/dev/null || missing="$$missing perl"
	command -v getfattr >/dev/null || missing="$$missing attr"
	[ -x /usr/lib/cargo/bin/coreutils/cat ] || missing="$$missing rust-coreutils"
	for program in file fish lsof rsync zip zsh; do
	    command -v $$program >/dev/null || missing="$$missing $$program"
	done
	command -v inotifywait >/dev/null || missing="$$missing inotify-tools"
	command -v gio >/dev/null || missing="$$missing libglib2.0-bin"
	command -v trash-put >/dev/null || missing="$$missing trash-cli"
	command -v vim >/dev/null || command -v vim.tiny >/dev/null || missing="$$missing vim-tiny"
	[ -z "$$missing" ] || apt_install $$missing
	if ! command -v redis-server >/dev/null; then
	    apt_install redis-server
	    # The package starts a server; the tests start their own.
	    as_root=
	    [ "$$(id -u)" = 0 ] || as_root=sudo
	    $$as_root service redis-server stop >/dev/null 2>&1 || true
	    $$as_root update-rc.d redis-server disable >/dev/null 2>&1 || true
	fi
	$(PIP) install --group tests
	touch $@

$(VENV)/.lint: $(VENV)/.tests
	@$(PIP) install --group lint
	touch $@
