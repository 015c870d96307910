# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon's properties with those of an installed OpenVINO, whose headers and device are the reference.

check_properties.py headers <Tenon's sources>                  names, keys, value types, access, enumerators
check_properties.py device <docs/properties.md> <properties_dump>    the answers of the CPU device and a compiled model,
                                                       and that every writable property's effect is documented
Exits with 77 if the openvino wheel is not installed.
"""
import json
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
# Headers of devices from other projects: members that exist here must be right, missing ones are only reported.
OPTIONAL_HEADERS = {"auto"}


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def scopes(text):
    """Yields (namespace path, statement up to its ; or body) for everything at namespace level."""
    path, at, start = [], 0, 0
    opened = []
    while at < len(text):
        if text[at] == "{":
            head = text[start:at].strip()
            names = re.search(r"(?:^|[;}\s])(?:inline\s+)?namespace\s+([\w:]+)\s*$", head)
            if names:
                opened.append(len(path))
                path += names.group(1).split("::")
                start = at + 1
            else:
                depth, end = 1, at + 1
                while depth:
                    depth += {"{": 1, "}": -1}.get(text[end], 0)
                    end += 1
                yield tuple(path), head, text[at + 1:end - 1]
                at, start = end - 1, end
        elif text[at] == "}":
            del path[opened.pop():]
            start = at + 1
        elif text[at] == ";":
            start = at + 1
        at += 1


def normal_type(text):
    text = re.sub(r"\s+", " ", text.strip())
    text = re.sub(r"\b(ov|tenon|v1)::", "", text)
    text = re.sub(r"\bstd::(u?int\d+_t|size_t)\b", r"\1", text)
    text = re.sub(r"\b(\w+)::(?=Num\b)", "", text)
    return text.replace("unsigned int", "unsigned").replace(" ", "")


def split_arguments(text):
    parts, depth, now = [], 0, ""
    for c in text:
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(now)
            now = ""
        else:
            now += c
    return parts + [now]


def read_header(path):
    """Properties by qualified name: (key, type, access); enumerations by name: {enumerator: value}; texts."""
    text = without_comments(path.read_text())
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M)
    # One of OpenVINO's properties is initialised in parentheses.
    text = re.sub(r"(constexpr\s+[\w:]*Property<[^;{}()]*>\s+\w+)\((\"\w+\")\);", r"\1{\2};", text)
    properties, enumerations, texts = {}, {}, {}
    for namespaces, head, body in scopes(text):
        where = tuple(n for n in namespaces if n not in ("ov", "tenon", "v1"))
        found = re.search(r"constexpr\s+(?:ov::)?(Property<.*>|Priorities|Properties)\s+(\w+)$", head, re.S)
        key = re.fullmatch(r'\s*"(\w+)"\s*', body)
        if found and key:
            kind = found.group(1)
            if kind.startswith("Property<"):
                arguments = split_arguments(kind[len("Property<"):-1])
                value = normal_type(arguments[0])
                access = arguments[1].strip().split("::")[-1] if len(arguments) > 1 else "RW"
            else:
                value, access = kind, "RW"
            properties["::".join(where + (found.group(2),))] = (key.group(1), value, access)
            continue
        enum = re.search(r"enum class (\w+)(?:\s*:\s*\w+)?$", head)
        if enum:
            values, last = {}, -1
            for item in body.split(","):
                if not item.strip():
                    continue
                name, _, number = (part.strip() for part in item.partition("="))
                last = values[number] if number in values else int(number, 0) if number else last + 1
                values[name] = last
            enumerations["::".join(where + (enum.group(1),))] = values
            continue
        # The texts of enumerators: OpenVINO's operator<<, or Tenon's table.
        table = re.search(r"TENON_ENUM_TEXT\(\s*(\w+)\s*,.*$", head, re.S)
        if table:
            pairs = re.findall(r"\{\s*\w+::(\w+)\s*,\s*\"([^\"]*)\"", "{" + body)
            texts["::".join(where + (table.group(1),))] = dict(pairs)
            continue
        printer = re.search(r"operator<<\(\s*std::ostream&\s*\w+,\s*const\s+([\w:]+)&", head)
        if printer:
            pairs = re.findall(r"case\s+[\w:]*?(\w+):\s*\{?\s*(?:return\s+)?\w+\s*<<\s*\"([^\"]*)\"", body)
            if pairs:
                name = printer.group(1).split("::")[-1]
                texts["::".join(where + (name,))] = dict(pairs)
    return properties, enumerations, texts


# Where a device's public properties lie: with the device.
FOLDERS = {"intel_npu": "devices/npu/public", "intel_gpu": "devices/gpu/public", "intel_cpu": "devices/cpu/public", "auto": "devices/auto/public", "": "runtime"}


def check_headers(top):
    import openvino
    reference = pathlib.Path(openvino.__file__).parent / "include" / "openvino" / "runtime"
    if not reference.is_dir():
        print("the openvino package carries no headers")
        return SKIPPED
    errors, compared = [], 0
    for header in sorted(reference.rglob("*properties.hpp")):
        # Of remote tensors the GPU has the keys that it takes.
        if header.name != "properties.hpp" and header.parent.name in OPTIONAL_HEADERS | {"intel_gpu"}:
            continue
        name = header.relative_to(reference)
        theirs, their_enums, their_texts = read_header(header)
        mine = pathlib.Path(top) / FOLDERS.get(name.parent.as_posix().replace(".", ""), name.parent) / name.name
        if mine.parent.name == "public" and not mine.parent.parent.exists():
            print(f"note: {name}: this tree has no {mine.parent.parent.relative_to(top)}")
            continue
        if not mine.exists():
            message = f"{name}: {len(theirs)} properties, and Tenon has no such header"
            if name.parent.name in OPTIONAL_HEADERS:
                print("note:", message)
            else:
                errors.append(message)
            continue
        ours, our_enums, our_texts = read_header(mine)
        if name.parent == pathlib.Path("."):
            our_enums.update(read_header(mine.parent / "property.hpp")[1])
        if not theirs:
            errors.append(f"{name}: nothing was found in OpenVINO's header; this script reads it wrongly")
        for what, wanted in theirs.items():
            compared += 1
            got = ours.get(what)
            if got is None and name.parent.name in OPTIONAL_HEADERS:
                print(f"note: {name}: {what} is missing, {wanted}")
            elif got is None:
                errors.append(f"{name}: {what} is missing, {wanted}")
            elif got != wanted:
                errors.append(f"{name}: {what} is {got}, OpenVINO's is {wanted}")
        for what, wanted in their_enums.items():
            compared += 1
            if our_enums.get(what) != wanted:
                errors.append(f"{name}: enum {what} is {our_enums.get(what)}, OpenVINO's is {wanted}")
        for what, wanted in their_texts.items():
            if what not in their_enums:
                continue  # A structure; the device check reads and prints it.
            got = our_texts.get(what, {})
            for enumerator, text in wanted.items():
                compared += 1
                if got.get(enumerator) != text:
                    errors.append(f"{name}: {what}::{enumerator} is \"{got.get(enumerator)}\", OpenVINO's \"{text}\"")
    if (pathlib.Path(top) / FOLDERS["intel_npu"]).exists():
        compared += check_classes(reference / "intel_npu" / "level_zero" / "level_zero.hpp",
                              pathlib.Path(top) / FOLDERS["intel_npu"] / "level_zero.hpp", errors)
    print(f"{compared} properties, enumerations, texts and members compared")
    for error in errors:
        print("ERROR", error)
    return 1 if errors or compared < 100 else 0


def public_members(path):
    """Public functions of a header's classes, by class: names with the types of their parameters."""
    text = without_comments(path.read_text())
    classes = {}
    for _, head, body in scopes(text):
        found = re.search(r"\bclass\s+(\w+)\s*:\s*public\s+([\w:]+)$", head)
        if not found:
            continue
        members = classes.setdefault(found.group(1), {found.group(2).split("::")[-1]})
        access, depth, now = "private", 0, ""
        for c in re.sub(r"\b(public|protected|private)\s*:", r"@\1@", body):
            if c == "{":
                depth += 1
            if depth == 0:
                now += c
            if c == "}":
                depth -= 1
            if (c == ";" or c == "}") and depth == 0:
                for label in re.findall(r"@(\w+)@", now):
                    access = label
                signature = re.search(r"(\w+)\s*\((.*)\)\s*(?:const)?\s*;?\s*$", re.sub(r"@\w+@", "", now), re.S)
                if signature and access == "public":
                    types = [re.sub(r"\s*=.*$", "", p.strip(), flags=re.S) for p in
                             split_arguments(signature.group(2)) if p.strip()]
                    types = [normal_type(re.sub(r"\s*\w+$", "", p)) for p in types]
                    members.add(f"{signature.group(1)}({', '.join(types)})")
                now = ""
    return classes


def check_classes(theirs_path, ours_path, errors):
    theirs, ours = public_members(theirs_path), public_members(ours_path)
    for name, members in theirs.items():
        for member in sorted(members - ours.get(name, set())):
            errors.append(f"{ours_path.name}: {name} lacks {member}; it has {sorted(ours.get(name, set()))}")
    if set(theirs) != {"ZeroBufferTensor", "ZeroContext"}:
        errors.append(f"{theirs_path.name}: read {sorted(theirs)}; this script reads it wrongly")
    return sum(len(members) for members in theirs.values())


def openvino_answers():
    import numpy
    import openvino
    from openvino import opset13
    core = openvino.Core()
    x = opset13.parameter([1, 4], numpy.float32, name="x")
    model = core.compile_model(openvino.Model([opset13.relu(x)], [x], "answers"), "CPU")
    general = {}
    header = pathlib.Path(openvino.__file__).parent / "include" / "openvino" / "runtime" / "properties.hpp"
    for key, _, _ in read_header(header)[0].values():
        try:
            core.get_property("CPU", key)
            general[key] = True
        except TypeError:  # Answered, with a value of a type that Python does not have.
            general[key] = True
        except RuntimeError:
            general[key] = False
    return (dict(core.get_property("CPU", "SUPPORTED_PROPERTIES")),
            dict(model.get_property("SUPPORTED_PROPERTIES")), general)


def check_device(document, command):
    device, model, answered = openvino_answers()
    documented = set(re.findall(r"^\| `(\w+)`", pathlib.Path(document).read_text(), re.M))
    ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    errors = []
    for what, wanted in (("device", device), ("model", model)):
        for key, access in wanted.items():
            got = ours[what].get(key)
            if got is None:
                errors.append(f"{what}: {key} ({access}) is not listed in SUPPORTED_PROPERTIES")
            elif got["access"] != access:
                errors.append(f"{what}: {key} is {got['access']}, OpenVINO's is {access}")
            elif access != "WO" and "error" in got:
                errors.append(f"{what}: {key} is listed and not answered: {got['error']}")
    for key, answers in sorted(answered.items()):
        got = ours["general"].get(key)
        if got is None:
            errors.append(f"general: {key} is unknown to general_properties()")
        elif answers and not got["answered"] and not got["by_core"]:
            errors.append(f"general: OpenVINO's CPU answers {key}, ours refuses it: {got['error']}")
    for key, got in ours["device"].items():
        if got["access"] != "RO" and key not in documented:
            errors.append(f"device: {key} can be written, and docs/properties.md does not say what it does")
    print(f"{len(device)} properties of the device, {len(model)} of a model, {len(answered)} general ones; "
          f"ours lists {len(ours['device'])} and {len(ours['model'])}")
    for error in errors:
        print("ERROR", error)
    return 1 if errors else 0


def main():
    try:
        import openvino  # noqa: F401
    except ImportError:
        print("the openvino package is not installed")
        return SKIPPED
    if sys.argv[1] == "headers":
        return check_headers(sys.argv[2])
    return check_device(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
