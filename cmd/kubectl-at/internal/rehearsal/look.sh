# shellcheck shell=sh
# Looks for the program $1 as a container runtime and the kernel do, as the user of the container and in its working directory. $0 is a static
# busybox, the only file that this runs. It prints why the program would not start, and exits with 1.
b=$0 p=$1
[ "$p" ] || exit 0 # The image has it.
set -f
fail() { echo "exec: $*"; exit 1; }
bytes() { "$b" head -c "$3" "$1" | "$b" tail -c +"$2" | "$b" od -An -tx1 | "$b" tr -d ' \n'; }
# volume FILE reports whether a path, or what exists of it, is in a volume, whose files may still come.
volume() {
	d=$1
	until [ -e "$d" ]; do
		case $d in /*/*) d=${d%/*} ;; /*) d=/ ;; */*) d=${d%/*} ;; *) d=. ;; esac
	done
	[ "$("$b" stat -c %d "$d")" != "$("$b" stat -c %d /)" ]
}
# usable FILE reports whether it can be executed, or ends the look with the reason that it cannot.
usable() {
	if [ -d "$1" ]; then fail "\"$1\": is a directory"; fi
	if [ ! -e "$1" ]; then
		volume "$1" && exit 0
		fail "\"$1\": no such file, or user $("$b" id -u) cannot reach it${2:+; $2}"
	fi
	[ -x "$1" ] || fail "\"$1\": permission denied: it is not executable by user $("$b" id -u)${2:+; $2}"
}
case $p in
*/*) f=$p ;;
*)
	IFS=: f=
	for d in $PATH; do
		d=${d:-.}
		if [ -f "$d/$p" ] && [ -x "$d/$p" ]; then f=$d/$p && break; fi
		if volume "$d"; then f=volume; fi
	done
	unset IFS
	[ "$f" != volume ] || exit 0
	[ "$f" ] || fail "\"$p\": no executable file that user $("$b" id -u) can reach is in PATH: $PATH"
	;;
esac
arch() {
	case $(bytes "$1" 19 20) in
	3e00) echo amd64 ;; b700) echo arm64 ;; 0300) echo 386 ;; 2800) echo arm ;; f300) echo riscv64 ;; 0016) echo s390x ;;
	1500 | 0015) echo ppc64 ;; *) echo "machine 0x$(bytes "$1" 19 20)" ;;
	esac
}
why=
for _ in 1 2 3 4; do # an interpreter can have one itself
	usable "$f" "$why"
	[ -r "$f" ] || exit 0
	case $(bytes "$f" 1 4) in
	7f454c46)
		case "$(arch "$b") $(arch "$f")" in
		"amd64 386" | "arm64 arm") ;; # The kernel may execute both.
		*) [ "$(arch "$b")" = "$(arch "$f")" ] || fail "\"$f\": exec format error: it is for $(arch "$f"), and the node is $(arch "$b")" ;;
		esac
		loader=$("$b" head -c 4096 "$f" | "$b" tr '\0' '\n' | "$b" grep -m 1 '^/[-+._/a-zA-Z0-9]*/ld[-._a-zA-Z0-9]*$')
		[ -z "$loader" ] || usable "$loader" "it is the loader of $f"
		exit 0
		;;
	2321*)
		line=$("$b" head -n 1 "$f" | "$b" tr '\t\r' ' ?')
		why="it is the interpreter in the first line of $f"
		line=${line#??}
		f=${line#"${line%%[! ]*}"}
		f=${f%% *}
		;;
	*) fail "\"$f\": exec format error: it is neither an ELF file nor a script with #!" ;;
	esac
done
