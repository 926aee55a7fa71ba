package d2q9

// StepInner computes the rows that need no neighbour.
func (s *Strip) StepInner() {
	for y := 1; y < s.rows-1; y++ {
		s.stepRow(y)
	}
}

// StepEdges computes the first and the last row, for which both halos must be in place, and ends the time step.
func (s *Strip) StepEdges() {
	s.stepRow(0)
	if s.rows > 1 {
		s.stepRow(s.rows - 1)
	}
	s.now, s.next = s.next, s.now
}

// stepRow pulls the populations of row y out of now, lets them collide, and writes next.
//
// Populations are handled in opposite pairs as even and odd part, even = f + g and odd = f - g. The odd parts of the axes follow
// from the momentum instead of being rounded on their own, so momentum is conserved exactly, too. All rounding is symmetric under
// mirroring in x and in y.
func (s *Strip) stepRow(y int) {
	w := s.width
	row := s.at(0, y)
	up, down := row-s.stride, row+s.stride
	solid := s.solid[y*w : y*w+w]

	// What arrives in a cell left the cell it comes from: east from x-1, north from the row below, and so on.
	in0 := s.now[rest][row:][:w]
	inE := s.now[east][row-1:][:w]
	inW := s.now[west][row+1:][:w]
	inN := s.now[north][down:][:w]
	inS := s.now[south][up:][:w]
	inNE := s.now[northEast][down-1:][:w]
	inNW := s.now[northWest][down+1:][:w]
	inSE := s.now[southEast][up-1:][:w]
	inSW := s.now[southWest][up+1:][:w]
	out0 := s.next[rest][row:][:w]
	outE := s.next[east][row:][:w]
	outW := s.next[west][row:][:w]
	outN := s.next[north][row:][:w]
	outS := s.next[south][row:][:w]
	outNE := s.next[northEast][row:][:w]
	outNW := s.next[northWest][row:][:w]
	outSE := s.next[southEast][row:][:w]
	outSW := s.next[southWest][row:][:w]
	spread := s.spread

	for x := range solid {
		f0, fE, fW := int64(in0[x]), int64(inE[x]), int64(inW[x])
		fN, fS := int64(inN[x]), int64(inS[x])
		fNE, fSW := int64(inNE[x]), int64(inSW[x])
		fSE, fNW := int64(inSE[x]), int64(inNW[x])

		if solid[x] {
			// An obstacle sends everything back where it came from.
			out0[x] = int32(f0)
			outE[x], outW[x] = int32(fW), int32(fE)
			outN[x], outS[x] = int32(fS), int32(fN)
			outNE[x], outSW[x] = int32(fSW), int32(fNE)
			outSE[x], outNW[x] = int32(fNW), int32(fSE)
			continue
		}

		evE, evN, evNE, evSE := fE+fW, fN+fS, fNE+fSW, fSE+fNW
		odNE, odSE := fNE-fSW, fSE-fNW
		rho := f0 + evE + evN + evNE + evSE
		jx := fE - fW + odNE + odSE
		jy := fN - fS + odNE - odSE

		xx, yy, xy := jx*jx, jy*jy, jx*jy
		evE += (evenAxis*(rho+(3*(2*xx-yy)>>22)) - omegaEven*evE) >> fraction
		evN += (evenAxis*(rho+(3*(2*yy-xx)>>22)) - omegaEven*evN) >> fraction
		evNE += (evenDiag*(rho+(6*(xx+yy+3*xy)>>22)) - omegaEven*evNE) >> fraction
		evSE += (evenDiag*(rho+(6*(xx+yy-3*xy)>>22)) - omegaEven*evSE) >> fraction
		odNE += towardsZero(oddDiag*(jx+jy) - omegaOdd*odNE)
		odSE += towardsZero(oddDiag*(jx-jy) - omegaOdd*odSE)
		odE := jx - odNE - odSE
		odN := jy - odNE + odSE

		// Halving is exact once both parts are even or both odd; the bit goes to the resting population.
		evE ^= (evE ^ odE) & 1
		evN ^= (evN ^ odN) & 1
		evNE ^= (evNE ^ odNE) & 1
		evSE ^= (evSE ^ odSE) & 1

		vN, vS := int32((evN+odN)>>1), int32((evN-odN)>>1)
		vNE, vSW := int32((evNE+odNE)>>1), int32((evNE-odNE)>>1)
		vSE, vNW := int32((evSE+odSE)>>1), int32((evSE-odSE)>>1)
		out0[x] = int32(rho - evE - evN - evNE - evSE)
		outE[x], outW[x] = int32((evE+odE)>>1), int32((evE-odE)>>1)
		outN[x], outS[x] = vN, vS
		outNE[x], outSW[x] = vNE, vSW
		outSE[x], outNW[x] = vSE, vNW
		spread |= uint32(vN+packHalf) | uint32(vS+packHalf) | uint32(vNE+packHalf) |
			uint32(vSW+packHalf) | uint32(vSE+packHalf) | uint32(vNW+packHalf)
	}
	s.spread = spread

	if !solid[0] {
		jx := int64(outE[0]-outW[0]) + int64(outNE[0]-outSW[0]) + int64(outSE[0]-outNW[0])
		pull := int32((wind - jx) >> fanShift)
		outE[0] += pull
		outW[0] -= pull
	}
	s.wrap(&s.next, y)
}

// towardsZero scales a product by 2^-fraction so that -v gives the negative of what v gives, which a plain shift does not.
func towardsZero(v int64) int64 {
	return (v + (v>>63)&(1<<fraction-1)) >> fraction
}
