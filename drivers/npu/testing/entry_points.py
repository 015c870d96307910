#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes calls with wrong arguments of every function in a header of Level Zero, from what the header itself says of each: its parameters,
and the arguments for which it documents an error. Usage: entry_points.py HEADER... OUTPUT.

The output is a list of C++ initialisers for EntryPointCase (drivers/npu/calls/entry_points_test.cpp)."""
import pathlib
import re
import sys

FUNCTION = re.compile(r"^ZE_APIEXPORT ze_result_t ZE_APICALL\n(\w+)\(\n(.*?)\n +\);", re.M | re.S)
PARAMETER = re.compile(r"^ {4}([\w][\w ]*?\**) (\w+),? +///< (\[.*)$")
# What no NPU has, and this one neither: their calls may say that they are not supported in place of what is documented.
ABSENT = re.compile(r"Module|Kernel|Image|Sampler|Fabric|EventPool\w+IpcHandle|Cache\w*Ext")


class Parameter:
    def __init__(self, type_name, name, text):
        self.type, self.name, self.text = type_name, name, text
        self.is_optional = "[optional]" in text or "optional" in text.split("]")[0] or "nullptr" in text
        self.is_handle = bool(re.fullmatch(r"zes?t?_\w+_handle_t", type_name)) and "_ipc_" not in type_name  # Those are bytes.
        self.is_pointer = type_name.endswith("*")
        self.pointee = type_name.replace("const ", "").rstrip("*") if self.is_pointer else ""


class Header:
    def __init__(self, text):
        self.text = text
        self.structures = set(re.findall(r"^typedef struct _(\w+)\n\{\n +ze\w?_structure_type_t stype;", text, re.M))
        self.enumerations = set(re.findall(r"^} (\w+_t);", text, re.M)) - set(re.findall(r"^typedef struct _(\w+)\n", text, re.M))
        self.types = {name: value for name, value in re.findall(r"(ZE\w?_STRUCTURE_TYPE_\w+) = (\w+)", text)}

    def structure_type(self, structure):
        prefix, rest = structure.split("_", 1)
        name = f"{prefix.upper()}_STRUCTURE_TYPE_{rest.removesuffix('_t').upper()}"
        return name if name in self.types else None

    def functions(self):
        end = 0
        for function in FUNCTION.finditer(self.text):
            name, body = function.groups()
            comment, end = self.text[end:function.start()].rpartition("/" * 79)[2], function.end()
            lines = re.sub(r"\n +///< *", " ", body).splitlines()
            parameters = [Parameter(*match.groups()) for match in map(PARAMETER.match, lines) if match]
            if len(parameters) == len([line for line in lines if line.strip()]):
                yield name, parameters, self.documented(comment)

    @staticmethod
    def documented(comment):
        """(code, condition) of each condition that the comment states."""
        code, found = None, []
        for line in comment.splitlines():
            if match := re.search(r"- ::(ZE_RESULT_\w+)", line):
                code = match.group(1)
            elif match := re.search(r"\+ `(.+)`", line):
                found.append((code, match.group(1)))
        return found


class Cases:
    def __init__(self, header):
        self.header, self.lines = header, []

    def valid(self, parameter):
        if parameter.is_handle:
            return f"objects.handle<{parameter.type}>()"
        if parameter.is_pointer:
            if parameter.pointee in self.header.structures and parameter.type.count("*") == 1:
                kind = self.header.structure_type(parameter.pointee)
                return f"objects.described<{parameter.pointee}>({kind or 0})"
            if parameter.pointee == "void" and parameter.type.count("*") == 1:
                return "objects.memory()"
            if parameter.type == "const char*":
                return "objects.text()"
            return f"objects.room<{parameter.type}>()"
        if parameter.type == "size_t":
            return "0" if "offset" in parameter.name.lower() or parameter.name == "alignment" else "4096"
        if parameter.type in ("uint32_t", "uint64_t"):
            return "0" if "timeout" in parameter.name or "ordinal" in parameter.name or "Index" in parameter.name or "WaitEvents" in parameter.name else "1"
        return f"objects.value<{parameter.type}>()"

    def add(self, function, parameters, what, changed, expected, before=""):
        arguments = ", ".join(changed.get(each.name, self.valid(each)) for each in parameters)
        may_lack = "true" if function.startswith(("zes", "zet")) or ABSENT.search(function) or any(ABSENT.search(each.type.title().replace("_", "")) for each in parameters) else "false"
        self.lines.append(f'{{"{function}", "{what}", {expected}, {may_lack}, [](Objects& objects) {{ (void)objects; {before}return {function}({arguments}); }}}},')

    def of_documented(self, function, parameters, documented):
        by_name = {each.name: each for each in parameters}
        for code, condition in documented:
            if match := re.fullmatch(r"nullptr == (\w+)", condition):
                parameter = by_name.get(match.group(1))
                if parameter and not parameter.is_optional:
                    self.add(function, parameters, condition, {parameter.name: "nullptr"}, code)
            elif match := re.fullmatch(r"0 == (\w+)", condition):
                if match.group(1) in by_name:
                    self.add(function, parameters, condition, {match.group(1): "0"}, code)
            elif match := re.fullmatch(r"(?:::)?\w+ < (\w+)", condition):
                if parameter := by_name.get(match.group(1)):
                    self.add(function, parameters, condition, {parameter.name: f"static_cast<{parameter.type}>(0x7fffffff)"}, code)
            elif match := re.fullmatch(r"(?:::)?\w+ < (\w+)->(\w+)", condition):
                if parameter := by_name.get(match.group(1)):
                    kind = self.header.structure_type(parameter.pointee) or 0
                    before = (f"auto* const wrong = objects.described<{parameter.pointee}>({kind}); "
                              f"wrong->{match.group(2)} = static_cast<std::remove_reference_t<decltype(wrong->{match.group(2)})>>(0x7fffffff); ")
                    self.add(function, parameters, condition, {parameter.name: "wrong"}, code, before)

    def of_handles(self, function, parameters):
        for parameter in parameters:
            if not parameter.is_handle:
                continue
            for what in ("misaligned", "foreign", "zeroed", "other_kind", "stale"):
                self.add(function, parameters, f"{parameter.name} is {what}", {parameter.name: f"objects.{what}<{parameter.type}>()"}, "kAnyError")

    def of_structures(self, function, parameters):
        """A wrong type, and chains of links that are unknown or circular: any answer, but an answer."""
        for parameter in parameters:
            if not parameter.is_pointer or parameter.pointee not in self.header.structures or parameter.type.count("*") != 1:
                continue
            kind = self.header.structure_type(parameter.pointee) or 0
            self.add(function, parameters, f"{parameter.name} has a wrong stype",
                     {parameter.name: f"objects.described<{parameter.pointee}>(0x7ffffff0)"}, "kAnyResult")
            for what in ("unknown", "circular"):
                self.add(function, parameters, f"{parameter.name} has a chain that is {what}",
                         {parameter.name: f"objects.chained<{parameter.pointee}>({kind}, objects.{what}_link())"}, "kAnyResult")


def main():
    header = Header("\n".join(pathlib.Path(name).read_text() for name in sys.argv[1:-1]))
    cases = Cases(header)
    for name, parameters, documented in header.functions():
        if name in ("zeInit", "zeInitDrivers"):
            continue
        cases.of_documented(name, parameters, documented)
        cases.of_handles(name, parameters)
        if "Destroy" not in name and name not in ("zeMemFreeExt",):
            cases.of_structures(name, parameters)
    pathlib.Path(sys.argv[-1]).write_text("// Made by entry_points.py.\n" + "\n".join(cases.lines) + "\n")


if __name__ == "__main__":
    main()
