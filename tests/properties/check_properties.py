# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon's properties with those of an installed OpenVINO, whose headers and device are the reference.

check_properties.py headers <Tenon's sources>                  names, keys, value types, access, enumerators
check_properties.py device <docs/properties.md> <properties_dump>    the answers of the CPU device and a compiled model,
                                                       and that every writable property's effect is documented
check_properties.py gpu <docs/properties.md> <properties_dump GPU>   the same of the GPU device, for what OpenVINO's headers and its
                                                       plugin have
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
        if header.name != "properties.hpp" and header.parent.name in OPTIONAL_HEADERS:
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
    for folder, name, classes in CLASSES:
        mine = pathlib.Path(top) / FOLDERS[folder]
        if mine.exists():
            compared += check_classes(reference / folder / name, mine / pathlib.Path(name).name, classes, errors)
    print(f"{compared} properties, enumerations, texts and members compared")
    for error in errors:
        print("ERROR", error)
    return 1 if errors or compared < 100 else 0


# Headers of classes: a device's folder, the header, and the classes that must be found in it.
CLASSES = [("intel_npu", "level_zero/level_zero.hpp", {"ZeroBufferTensor", "ZeroContext"}),
           ("intel_gpu", "ocl/ocl.hpp", {"ClBufferTensor", "ClImage2DTensor", "USMTensor", "ClContext"}),
           ("intel_gpu", "ocl/va.hpp", {"VASurfaceTensor", "VAContext"}),
           ("intel_gpu", "ocl/dx.hpp", {"D3DBufferTensor", "D3DSurface2DTensor", "D3DContext"})]
# Types that Tenon's headers name themselves, so that libva need not be installed.
OWN_NAMES = {"VADisplay": "VADisplayHandle", "VASurfaceID": "VASurfaceHandle"}


def parameter_type(text):
    """The type in "const cl_mem buffer = nullptr": a const that callers do not see is none."""
    text = normal_type(re.sub(r"\s*\w+$", "", re.sub(r"\s*=.*$", "", text.strip(), flags=re.S)).replace("const ", "const@"))
    text = text.replace("const@", "const ")
    return text if text.endswith(("&", "*")) else text.removeprefix("const ")


def public_members(path):
    """What a header's classes offer, by class: their base, functions with the types of their parameters, names taken over from a base,
    and the keys and enumerators that type_check() reads."""
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", without_comments(path.read_text()), flags=re.M)
    for theirs, ours in OWN_NAMES.items():
        text = re.sub(rf"\b{theirs}\b", ours, text)
    classes = {}
    for _, head, body in scopes(text):
        found = re.search(r"\bclass\s+(\w+)\s*:\s*public\s+([\w:]+)$", head)
        if not found:
            continue
        members = classes.setdefault(found.group(1), {found.group(2).split("::")[-1]})
        access, depth, now, block = "private", 0, "", ""
        for c in re.sub(r"\b(public|protected|private)\s*:(?!:)", r"@\1@", body):
            if c == "{":
                depth += 1
            if depth == 0:
                now += c
            else:
                block += c
            if c == "}":
                depth -= 1
            if (c == ";" or c == "}") and depth == 0:
                for label in re.findall(r"@(\w+)@", now):
                    access = label
                now = re.sub(r"@\w+@", "", now)
                now = re.sub(r"\)\s*:\s*\w+\(\)\s*$", ")", now)  # What a constructor initialises.
                signature = re.search(r"(\w+)\s*\((.*)\)\s*(?:const)?\s*;?\s*$", now, re.S)
                taken_over = re.search(r"using\s+([\w:]+);\s*$", now)
                if signature and access == "public":
                    types = [parameter_type(p) for p in split_arguments(signature.group(2)) if p.strip()]
                    members.add(f"{signature.group(1)}({', '.join(types)})")
                    if signature.group(1) == "type_check":
                        members.update(re.findall(r"\b(\w+\.name\(\)|(?:ContextType|SharedMemType|MemType)::\w+)", block))
                elif taken_over and access == "public":
                    members.add("using " + taken_over.group(1))
                now, block = "", ""
    return classes


def check_classes(theirs_path, ours_path, expected, errors):
    theirs, ours = public_members(theirs_path), public_members(ours_path)
    for name, members in theirs.items():
        for member in sorted(members - ours.get(name, set())):
            errors.append(f"{ours_path.name}: {name} lacks {member}; it has {sorted(ours.get(name, set()))}")
    if set(theirs) != expected:
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


# What OpenVINO's GPU plugin answers of the general properties (its device cannot be asked here).
GPU_ANSWERS = {"SUPPORTED_PROPERTIES", "AVAILABLE_DEVICES", "RANGE_FOR_ASYNC_INFER_REQUESTS", "RANGE_FOR_STREAMS", "OPTIMAL_BATCH_SIZE",
               "MAX_BATCH_SIZE", "DEVICE_ARCHITECTURE", "FULL_DEVICE_NAME", "DEVICE_UUID", "DEVICE_LUID", "DEVICE_TYPE", "DEVICE_GOPS",
               "DEVICE_PCI_INFO", "OPTIMIZATION_CAPABILITIES", "EXECUTION_DEVICES", "CACHING_PROPERTIES", "PERF_COUNT", "MODEL_PRIORITY",
               "PERFORMANCE_HINT", "EXECUTION_MODE_HINT", "COMPILATION_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT_NUM_REQUESTS",
               "INFERENCE_PRECISION_HINT", "ENABLE_CPU_PINNING", "ENABLE_CPU_RESERVATION", "DEVICE_ID",
               "DYNAMIC_QUANTIZATION_GROUP_SIZE"}


def check_gpu(document, command):
    import openvino
    header = pathlib.Path(openvino.__file__).parent / "include" / "openvino" / "runtime" / "intel_gpu" / "properties.hpp"
    own = {key for key, _, _ in read_header(header)[0].values()}
    documented = set(re.findall(r"`(\w+)`", "\n".join(
        line for line in pathlib.Path(document).read_text().split("## Properties of the GPU device")[1].split("\n## ")[0].splitlines())))
    ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    errors = [] if len(own) > 15 else [f"{header.name}: {len(own)} keys; this script reads it wrongly"]
    for key in sorted(own | GPU_ANSWERS):
        got = ours["device"].get(key)
        if got is None:
            errors.append(f"device: {key} is not listed in SUPPORTED_PROPERTIES")
        elif "error" in got:
            errors.append(f"device: {key} is listed and not answered: {got['error']}")
    for what in ("device", "model"):
        for key, got in ours[what].items():
            if got["access"] != "WO" and "error" in got:
                errors.append(f"{what}: {key} is listed and not answered: {got['error']}")
    for key in sorted(own | {key for key, got in ours["device"].items() if got["access"] != "RO"}):
        if key not in documented:
            errors.append(f"device: docs/properties.md does not say what {key} does on the GPU")
    print(f"{len(own)} keys of OpenVINO's header and {len(GPU_ANSWERS)} general ones; ours lists {len(ours['device'])} and {len(ours['model'])}")
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
    return (check_gpu if sys.argv[1] == "gpu" else check_device)(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
