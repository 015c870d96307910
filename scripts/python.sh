# SPDX-License-Identifier: Apache-2.0
# The slow tests of the Python package, for ./dev check python. Sourced.

# What the package's tests need besides the wheel, and those of FFmpeg's libraries that the command-line tool needs, as Debian 12 calls them.
WHEEL_TEST_PACKAGES="numpy pytest ml_dtypes"
TOOL_PACKAGES=(libavdevice59 libswresample4)

run_uv() { "$PWD/build/venv/bin/uv" "$@"; }

# The program of a release of Python that is installed: one that uv finds, or one of pyenv's, which need not be on the path.
installed_python() {  # RELEASE
  local each
  for each in "$(run_uv python find --no-python-downloads "$1" 2>/dev/null)" "$(pyenv root 2>/dev/null)"/versions/"$1".*/bin/python"$1"; do
    if [ -x "$each" ] && "$each" -c 'import sys, sysconfig, os; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; then
      echo "$each"
      return
    fi
  done
}

# Programs of each release of Python that the package is for, but that of build/venv: installed ones with headers. Where none of them is of
# 3.12 or later, whose wheel serves all later ones, uv fetches one.
other_pythons() {
  local own release found newer=""
  own=$("$(venv_python)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for release in 3.10 3.11 3.12 3.13 3.14; do
    [ "$release" != "$own" ] && found=$(installed_python "$release") && [ -n "$found" ] || continue
    [ "${release#3.}" -lt 12 ] || newer=1
    echo "$found"
  done
  [ -n "$newer" ] || { run_uv python install -q 3.12 && run_uv python find 3.12; }
}

# The wheel comes from this folder alone: an index has another package of this name.
# The tests of the package in a bare Debian: its own Python, no library of media. wheel_in_chroot SUITE
wheel_in_chroot() {
  local suite="$1" root="$PWD/build/chroot/python-$1" tool
  trap chroot_unmount RETURN
  chroot_make "$suite" "$root" || return 1
  rm -rf "$root/wheel" "$root/tests" "$root/venv"
  mkdir "$root/wheel"
  cp build/wheel/*.whl "$root/wheel"
  mkdir "$root/tests"
  cp bindings/python/tests/*.py "$root/tests"
  chroot_run "$root" "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; apt-get install -y -qq --no-install-recommends python3-venv ca-certificates >/var/log/python.log 2>&1 || { tail -5 /var/log/python.log; exit 1; }
    python3 -m venv /venv; /venv/bin/pip install -q --disable-pip-version-check --no-index --no-deps --find-links /wheel tenon; /venv/bin/pip install -q --disable-pip-version-check $WHEEL_TEST_PACKAGES
    cd /tmp; /venv/bin/python -m pytest -q -p no:cacheprovider /tests
    /venv/bin/python -c 'import tenon as tn; absent = tn.absent(); print(len(absent), \"absent\"); assert all(\"cannot open shared object\" in why or \"needs\" in why for why in absent.values()), absent; assert \"framework ffmpeg\" in absent, absent'
    ! /venv/bin/python -m tenon --version 2>/var/log/tool.log; grep -q 'libraries that this system lacks: .*libavcodec' /var/log/tool.log || { cat /var/log/tool.log; exit 1; }" || return 1
  # The tool is for the FFmpeg of the release that the wheel was made on.
  if [ "$suite" = bookworm ] && grep -q bookworm /etc/os-release; then
    tool="apt-get install -y -qq --no-install-recommends ${TOOL_PACKAGES[*]} >/var/log/ffmpeg.log 2>&1; cd /tmp; /venv/bin/python -m tenon devices | grep -q '^CPU .*available'"
    chroot_run "$root" "export DEBIAN_FRONTEND=noninteractive; $tool; /venv/bin/python -m tenon elements | grep -q 'gstreamer.*libgst'" || return 1
  fi
  echo "python: the wheel passed the package's tests in a bare $suite"
}

# uv makes the environment and runs the tests. wheel_by_uv PYTHON
wheel_by_uv() {
  local folder code
  folder=$(mktemp -d)
  run_uv venv -q --python "$1" "$folder/venv" &&
    VIRTUAL_ENV="$folder/venv" run_uv pip install -q --no-cache --no-index --no-deps --find-links build/wheel tenon &&
    VIRTUAL_ENV="$folder/venv" run_uv pip install -q --only-binary :all: $WHEEL_TEST_PACKAGES &&  # The newest that this Python has wheels of.
    mkdir "$folder/tests" && cp bindings/python/tests/*.py "$folder/tests" &&
    (cd "$folder" && env -u PYTHONPATH -u TENON_DEVICE_PATH venv/bin/python -m pytest -q -p no:cacheprovider tests) &&
    echo "python: the wheel passed the package's tests under uv, $("$folder/venv/bin/python" --version)"
  code=$?
  rm -rf "$folder"
  return "$code"
}

# `pip install .` from a clone: compiles what the package has, in a folder of its own.
clone_by_pip() {
  local folder
  folder=$(mktemp -d)
  git clone -q . "$folder/clone" && python3 -m venv "$folder/venv" &&
    "$folder/venv/bin/pip" install -q --disable-pip-version-check "$folder/clone" $WHEEL_TEST_PACKAGES &&
    python3 tests/install/loader_paths.py --relative "$folder"/venv/lib/python3*/site-packages/tenon &&
    (cd "$folder" && env -u PYTHONPATH -u TENON_DEVICE_PATH venv/bin/python -m pytest -q -p no:cacheprovider clone/bindings/python/tests/*.py &&
      venv/bin/python -m tenon --version) && echo "python: pip install . of a clone passed the package's tests"
  local code=$?
  rm -rf "$folder"
  return "$code"
}

# A free-threaded Python: neither Debian nor PyPI has one as a program, so it is made of Debian 13's source, in 6 minutes of one processor.
free_threaded_python() {
  local folder="$PWD/build/python-free-threaded" options
  [ ! -x "$folder/bin/python3.13" ] || { echo "$folder/bin/python3.13"; return 0; }
  source scripts/chroot_root.sh
  apt_install libssl-dev libffi-dev zlib1g-dev >&2 && rm -rf "$folder" && mkdir -p "$folder"/apt/{lists,archives}/partial "$folder/source/build" || return 1
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) trixie main" >"$folder/apt/sources.list"
  options=(-qq -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt")
  (cd "$folder/apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only --tar-only python3.13 &&
    tar -C "$folder/source" --strip-components=1 -xf python3.13_*.orig.tar.xz && cd "$folder/source/build" &&
    ../configure --disable-gil --prefix="$folder" CFLAGS="-O1" && make -j "$(nproc)" && make install) >"$folder.log" 2>&1 ||
    { tail -5 "$folder.log" >&2; return 1; }
  rm -rf "$folder/source" "$folder/apt"
  echo "$folder/bin/python3.13"
}

# The package's tests in a free-threaded Python, by a wheel of its own. Its lock comes on with the package, which does not say that it works without.
check_python_free_threaded() {
  local python
  pip_install "${PYPI_UV[@]}"
  python=$(free_threaded_python) || return 1
  rm -f build/wheel/*.whl
  source scripts/package.sh
  make_wheels "$python" && wheel_by_uv "$python"
}

# The package's tests with its module and Tenon's libraries under the address sanitizer, which Python itself is not: the sanitizer is loaded
# before it. Leaks are not looked for, because Python keeps what it has when it ends; what the module leaks, nanobind tells.
check_python_sanitized() {
  local tests=bindings/python/tests preload each
  configure asan && build asan tenon_python tenon_device_cpu tenon_contexts_null tenon_contexts_dmabuf tenon_elements_python || return 1
  cc -shared -fPIC -o build/asan/no_deepbind.so $tests/sanitized/no_deepbind.c || return 1
  preload="$PWD/build/asan/no_deepbind.so"
  for each in asan ubsan stdc++; do preload+=" $(g++ -print-file-name=lib$each.so)"; done
  PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0 PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH="$PWD/build/asan/python" TENON_DEVICE_PATH="$PWD/build/asan/lib" TENON_ELEMENT_PATH="$PWD/build/asan/lib" LD_PRELOAD="$preload" \
    "$(venv_python)" -X faulthandler -m pytest -q -p no:cacheprovider $tests/test_{bad_input,tensor,infer,routes,exit}.py
}

check_python_package() {
  local suite each first="" others made=()
  pip_install "${PYPI_UV[@]}"
  others=$(other_pythons) || { echo "check: no Python of 3.12 or newer could be had" >&2; return 1; }
  # The wheel of the first from 3.12 on serves the later ones.
  for each in $others; do
    if "$each" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
      [ -z "$first" ] || continue
      first=$each
    fi
    made+=("$each")
  done
  rm -f build/wheel/*.whl
  source scripts/package.sh
  make_wheels "$(venv_python)" "${made[@]}" || return 1
  for each in "$(venv_python)" $others; do wheel_by_uv "$each" || return 1; done
  if [ "$(id -u)" = 0 ]; then
    source scripts/chroot_root.sh
    for suite in bookworm trixie; do wheel_in_chroot "$suite" || return 1; done
  else
    SUMMARY+=("skipped      the wheel in bare containers, which need root")
  fi
  clone_by_pip
}
