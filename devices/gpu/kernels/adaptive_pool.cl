// Pooling to given extents, one work-item for each element. X(i); STORE(value, at), INDEX_SET(i, value).
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int x = at % OW, y = at / OW % OH, z = at / (OW * OH) % OD, begin = at / (OW * OH * OD) * ID * IH * IW;
  ACC sum = IS_MAX ? (ACC)LOWEST : 0;
  int where = 0, count = 0;
  for (int iz = z * ID / OD; iz < ((z + 1) * ID + OD - 1) / OD; ++iz)
    for (int iy = y * IH / OH; iy < ((y + 1) * IH + OH - 1) / OH; ++iy)
      for (int ix = x * IW / OW; ix < ((x + 1) * IW + OW - 1) / OW; ++ix) {
        const int place = (iz * IH + iy) * IW + ix;
        const ACC value = (ACC)X(begin + place);
#if IS_MAX
        if (count == 0) where = place;
        if (value > sum) sum = value, where = place;
#else
        sum += value;
#endif
        ++count;
      }
#if IS_MAX
  INDEX_SET(at, where);
#else
  sum = count > 0 ? sum / count : 0;
#endif
  STORE(sum, at);
}
