#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# VTK 9.7.2: a picture written by vtkTIFFWriter and read by vtkTIFFReader is upside down, of 8 and 16 bits and of floats, while PNG, PNM and JPEG
# of the same picture come back as they were. The file is right, by its Orientation 1 and by Pillow 13.0.0: the reader does not turn the rows,
# which begin below in VTK. TIFF of other programs, and the reader that vtkImageReader2Factory chooses by the file, are the same.
# SetOrientationType(4), bottom left, which the file does not say, makes it right. A mask in PNG over a scan in TIFF is mirrored.
# Guess before the run: a picture comes back as it was, and one picture in two formats is one picture.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check vtk==9.7.2 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import numpy as np
import vtk
from PIL import Image
from vtk.util import numpy_support

folder = tempfile.mkdtemp()

def as_vtk(picture):
    image = vtk.vtkImageData()
    image.SetDimensions(picture.shape[1], picture.shape[0], 1)
    image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(picture.ravel(), deep=True))
    return image

def read(reader, path):
    reader.SetFileName(path)
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return numpy_support.vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(height, width)

kinds = {"tif": (vtk.vtkTIFFWriter, vtk.vtkTIFFReader), "png": (vtk.vtkPNGWriter, vtk.vtkPNGReader), "pgm": (vtk.vtkPNMWriter, vtk.vtkPNMReader)}
for dtype, suffixes in ((np.uint8, ("tif", "png", "pgm")), (np.uint16, ("tif", "png")), (np.float32, ("tif",))):
    picture = np.arange(12, dtype=dtype).reshape(4, 3) * 20
    for suffix in suffixes:
        path = os.path.join(folder, f"{np.dtype(dtype)}.{suffix}")
        writer, reader = kinds[suffix][0](), kinds[suffix][1]()
        writer.SetFileName(path)
        writer.SetInputData(as_vtk(picture))
        writer.Write()
        found, chosen = read(reader, path), read(vtk.vtkImageReader2Factory.CreateImageReader2(path), path)
        print(f"{suffix} of {np.dtype(dtype)}: first column {picture[:, 0].tolist()} read as {found[:, 0].tolist()}")
        turned = suffix == "tif"
        assert np.array_equal(found, picture[::-1] if turned else picture) and np.array_equal(chosen, found)
        assert np.array_equal(np.asarray(Image.open(path)), picture[::-1])
        if turned:
            assert Image.open(path).tag_v2[274] == 1
            other = vtk.vtkTIFFReader()
            other.SetOrientationType(4)
            assert np.array_equal(read(other, path), picture)
            Image.open(path).save(path + ".pillow.tif")
            assert np.array_equal(read(vtk.vtkTIFFReader(), path + ".pillow.tif"), picture[::-1])
PYTHON
