"""Expressions, formulas and polynomials are those of pydrake, compared by their texts.

Canonical forms differ where sympy's differ (it multiplies a number into a sum, knows that abs(-x) is abs(x)); such
cases are compared by their values, further below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import merganser.framework
import merganser.framework.symbolic

drake: Any = pytest.importorskip("pydrake.symbolic")
pytestmark = pytest.mark.reference

CASES = """
# Expressions and formulas
x+1 ; 1+x ; x-1 ; 1-x ; x+y ; y+x ; x-y ; 2*x ; x*2 ; x*y ; y*x ; x**2 ; x**2*y ; 2*x*y+3*x-4 ; -x ; -(x+y) ; x/y
x/2 ; 1/x ; 2/x ; x*y/z ; x/(y+1) ; (x+1)/(y+1) ; (x+1)*(y+1) ; (x+1)**2 ; x**1.5 ; pow(x,y) ; sqrt(x) ; exp(x)
log(x) ; abs(x) ; sin(x)+cos(y) ; sin(x)**2 ; atan2(x,y) ; max(x,y) ; min(x,y) ; if_then_else(x>y,x,y) ; floor(x)
ceil(x) ; tan(x)*2 ; Expression(1e20) ; Expression(-2) ; x>y ; x>=1 ; x==y ; x!=y ; logical_and(x>0,y>0)
logical_or(x>0,y>0) ; logical_not(logical_and(x>0,y>0)) ; Formula.True_() ; Formula.False_() ; (x+y).Expand()
((x+1)**2).Expand() ; ((x+y)*(x-y)).Expand() ; (x*(x+y)).Differentiate(x) ; sin(x*y).Differentiate(x)
(x**3).Differentiate(x) ; x*x*x ; x*y*x ; -2*x+3*y-z ; -2*x*y ; -x*y ; -(x**2) ; -1*sin(x) ; 2*sin(x)-3*cos(y)+0.5
x-2*y+z**2 ; sqrt(x*x) ; x/x ; x-x ; x*0 ; 0*x+1 ; sin(x)/cos(x) ; max(x,2) ; pow(x,2)*pow(x,3) ; 2*x+2*y
x**2+2*x*y+y**2 ; 1+2+x ; x+1+y+2 ; [x,x+1] ; Variables([x,y]) ; x ; Variable("foo")
(x*y).EvaluatePartial({x:2.}) ; uninterpreted_function("f",[x,y+1]) ; ToLatex(x**2/y) ; ToLatex(0.123456*x)
ToLatex(2*x-3*y+1) ; ToLatex(2*x*y) ; ToLatex(x*(y+1)) ; ToLatex(abs(x)) ; ToLatex((x+1)/(y+2)) ; ToLatex(x>=y)
ToLatex(max(x,y)) ; ToLatex(x!=y) ; ToLatex(sin(x)*cos(y)) ; ToLatex(exp(x+y)) ; ToLatex(0.5*x**2-0.25*y)
list(ExpressionKind.__members__) ; list(FormulaKind.__members__) ; forall(Variables([x]),x>y)
forall(Variables([x]),x>y).GetFreeVariables() ; forall(Variables([x]),x>y).Evaluate({y:2.})
(x+y).is_polynomial() ; Variables([x])+Variables([y]) ; Variables([x,y])-Variables([y])
Variables([x]) == Variables([x]) ; hash(Variables([x]))==hash(Variables([x]))
Variables([x]).IsSubsetOf(Variables([x,y])) ; x in Variables([x]) ; len(Variables([x,y])) ; list(Variables([x,y]))
{Variables([x]):1} ; repr(Variable("x",Variable.Type.RANDOM_GAUSSIAN))
# Monomials and polynomials
Monomial() ; Monomial(x) ; Monomial(x,2) ; Monomial({x:2,y:3}) ; Monomial({x:0,y:3}) ; Monomial([x,y],[1,2])
Monomial([x,y],[0,0]) ; Monomial({x:2,y:3}).degree(x) ; Monomial({x:2,y:3}).degree(z)
Monomial({x:2,y:3}).total_degree() ; Monomial({x:2,y:3}).get_powers() ; Monomial({x:2,y:3}).GetVariables()
Monomial({x:2,y:3}).ToExpression() ; Monomial().ToExpression() ; Monomial(x)==Monomial(x)
Monomial(x)==Monomial(y) ; Monomial(x)!=Monomial(y) ; Monomial(x).EqualTo(Monomial(x))
hash(Monomial(x))==hash(Monomial(x)) ; Monomial(x)*Monomial(y) ; Monomial(x)*2.0 ; 2.0*Monomial(x)
type(2.0*Monomial(x)).__name__ ; Monomial(x)*y ; type(Monomial(x)*y).__name__
type(Monomial(x)*Expression(y)).__name__ ; y*Monomial(x) ; type(y*Monomial(x)).__name__ ; Monomial(x)+y
type(Monomial(x)+Expression(y)).__name__ ; Monomial(x)+1 ; Monomial(x)+Monomial(y) ; Monomial(x)-Monomial(y)
-Monomial(x) ; Monomial(x)**3 ; Monomial(x)**-1 ; Monomial(x).pow_in_place(3)
Monomial({x:2,y:3}).Evaluate({x:2.,y:3.}) ; Monomial({x:2,y:3}).Evaluate({x:2.})
Monomial({x:2,y:3}).Evaluate([x,y],np.array([[1.,2],[3,4]])) ; Monomial({x:2,y:3}).EvaluatePartial({x:2.})
repr(Monomial({x:2,y:3})) ; repr(Monomial()) ; MonomialBasis(Variables([x,y,z]),2) ; MonomialBasis([x,y],2)
MonomialBasis([y,x],2) ; MonomialBasis({Variables([x,y]):2,Variables([z]):1})
EvenDegreeMonomialBasis(Variables([x,y]),3) ; OddDegreeMonomialBasis(Variables([x,y]),3)
EvenDegreeMonomialBasis(Variables([x,y,z]),2) ; CalcMonomialBasisOrderUpToOne(Variables([x,y]), True)
CalcMonomialBasisOrderUpToOne(Variables([x,y,z])) ; logical_not(x==y) ; logical_not(x<y)
logical_and(y<=x,x==1,sin(x)<=1,z>=3,x*y<=2,x<=1,y<=z,x<2) ; logical_or(y<=x,x==1,x<3,logical_and(x>1,z!=3))
logical_and(3*x+y<=1,3*x+y<=0,2*x+z<=1,x+2*y<=1,x**2+y<=1).Unapply()[1] ; logical_not(logical_not(x<y))
x*y/x ; 1/(1/Expression(x)) ; x**2/x ; sqrt(x)*sqrt(x) ; pow(sqrt(x),4) ; x/sqrt(x) ; sqrt(x)/sqrt(x)
x**1.5/x**0.5 ; sqrt(x*x*y) ; sqrt(abs(x)*y) ; exp(log(x)) ; exp(2*log(x)) ; exp(y+log(x)) ; log(exp(x)) ; x/(y/z)
sin(asin(x)) ; cos(asin(x)) ; tan(asin(x)) ; sin(acos(x)) ; cos(acos(x)) ; tan(acos(x)) ; sin(atan(x)) ; tan(atan(x))
cos(atan2(x,y)) ; sin(atan2(x,y)) ; tan(atan2(x,y)) ; atan2(x,1) ; atan2(x,exp(y)) ; pow(1,log(x)) ; pow(-x,0.5)
floor(x+1) ; floor(floor(x)) ; asin(-x) ; ((sqrt(x)+1)*(sqrt(x)-1)).Expand() ; ((sqrt(x)+y)**2).Expand()
if_then_else(x>y,log(z),log(z)) ; pow(2*x,1.5) ; sqrt(4*x) ; pow(exp(x),y) ; (x/y)*(y/z) ; pow(x,1.5).Differentiate(x)
y*sqrt(x) ; (x*y+x**2*y-x*z+x*(x+y)) ; Polynomial((x+y+1)**3)
[str(m) for m in Polynomial((x+y*z+1)**2).monomial_to_coefficient_map()]
CalcMonomialBasisOrderUpToOne(Variables([x,y,z]), True) ; Polynomial() ; Polynomial(x) ; Polynomial(x**2+2*x*y+3)
Polynomial(3.0) ; Polynomial(a*x**2+b*x+c,[x]) ; Polynomial(a*x**2+b*x+c,Variables([x]))
Polynomial((a+1)*x**2+b*x,[x]) ; Polynomial((x+y)**3) ; Polynomial((x+1)*(x-1)) ; Polynomial(x/2)
Polynomial(1/x) ; Polynomial(sin(x)) ; Polynomial(sin(a)*x,[x]) ; Polynomial(a/b*x,[x]) ; Polynomial(x**2/(1+0*x))
Polynomial(x**0.5) ; Polynomial(x**y) ; Polynomial({Monomial(x):Expression(2)})
Polynomial({Monomial(x):Expression(a),Monomial():3}) ; Polynomial({Monomial(x):Expression(x)})
Polynomial(Monomial(x)) ; Polynomial(2*x, [y]) ; repr(Polynomial(x**2+1))
Polynomial(a*x**2+b,[x]).indeterminates() ; Polynomial(a*x**2+b,[x]).decision_variables()
Polynomial(3.,[x]).indeterminates() ; Polynomial(a*x**2+b,[x]).monomial_to_coefficient_map()
Polynomial(a*x**2+b,[x]).Degree(x) ; Polynomial(a*x**2+b,[x]).Degree(a) ; Polynomial(x**2*y+y).TotalDegree()
Polynomial().TotalDegree() ; Polynomial(a*x**2+b,[x]).ToExpression() ; Polynomial(x**2+3*x).ToExpression()
Polynomial(x**2*y).Differentiate(x) ; Polynomial(a*x**2+b,[x]).Differentiate(a)
Polynomial(a*x**2+b,[x]).Differentiate(z) ; Polynomial(a*x**2+b,[x]).Differentiate(a).indeterminates()
Polynomial(x**2*y).Integrate(x,0,2) ; Polynomial(x**2*y).Integrate(z) ; Polynomial(a*x**2+b,[x]).Integrate(a)
Polynomial(a*x**2+b,[x]).Evaluate({a:1.,b:2.,x:3.}) ; Polynomial(a*x**2+b,[x]).Evaluate({a:1.,x:3.})
Polynomial(a*x**2+b,[x]).EvaluatePartial({a:2.}) ; Polynomial(a*x**2+b,[x]).EvaluatePartial({x:2.})
Polynomial(a*x**2+b,[x]).EvaluatePartial(x,2.)
Polynomial(x**2*y+y).EvaluateIndeterminates([x,y],np.array([[1.,2],[3,4]]))
Polynomial(a*x**2+b,[x]).EvaluateIndeterminates([x],np.array([[1.,2]]))
Polynomial(a*x**2+b*x+3,[x]).EvaluateWithAffineCoefficients([x],np.array([[1.,2.]])) ; Polynomial(x)+Polynomial(y)
Polynomial(x)+Monomial(y) ; Polynomial(x)+2.0 ; 2.0+Polynomial(x) ; Polynomial(x)+y ; Polynomial(x)+x
type(Polynomial(x)+y).__name__ ; (Polynomial(x)+y).indeterminates() ; (Polynomial(x)+y).decision_variables()
Polynomial(a*x,[x])+a ; (Polynomial(a*x,[x])+a).indeterminates() ; type(Polynomial(x)+Expression(y)).__name__
Polynomial(x)+Expression(y) ; x+Polynomial(x) ; type(x+Polynomial(x)).__name__ ; Expression(y)+Polynomial(x)
Polynomial(x)-Polynomial(y) ; Polynomial(x)-1.0 ; 1.0-Polynomial(x) ; Polynomial(x)-Monomial(x) ; Polynomial(x)-x
x-Polynomial(x) ; -Polynomial(x) ; Polynomial(x+1)*Polynomial(x-1) ; Polynomial(x+1)*Monomial(x)
Polynomial(x+1)*3.0 ; 3.0*Polynomial(x+1) ; Polynomial(x+1)*y ; y*Polynomial(x+1)
type(Polynomial(x+1)*Expression(y)).__name__ ; Polynomial(x+1)/2.0 ; type(Polynomial(x+1)/Expression(y)).__name__
1/Polynomial(x+1) ; Polynomial(x+1)/y ; Polynomial(x+1)**3 ; Polynomial(x+1)**0 ; Polynomial(x+1)**-1
Polynomial(x)==Polynomial(x) ; Polynomial(x)!=Polynomial(x) ; Polynomial(x)!=Polynomial(y)
type(Polynomial(x)==Polynomial(x)).__name__ ; Polynomial(x).EqualTo(Polynomial(x))
Polynomial((x+1)**2).EqualTo(Polynomial(x**2+2*x+1)) ; hash(Polynomial(x))==hash(Polynomial(x))
Polynomial(x**2+1).CoefficientsAlmostEqual(Polynomial(x**2+1.0001),1e-3)
Polynomial(x**2+1).CoefficientsAlmostEqual(Polynomial(x**2+1.01),1e-3)
Polynomial(x**2+1).CoefficientsAlmostEqual(Polynomial(1e-5*x+x**2+1),1e-3)
Polynomial(x**2+1e-5*x).RemoveTermsWithSmallCoefficients(1e-3)
Polynomial(a*x**2+1e-5*x,[x]).RemoveTermsWithSmallCoefficients(1e-3) ; Polynomial(x**2+1).IsEven()
Polynomial(x**3+x).IsOdd() ; Polynomial(x**2+x).IsEven() ; Polynomial().IsEven() ; Polynomial().IsOdd()
sorted(Polynomial(x**2-1).Roots().real.round(9)) ; Polynomial(x*y).Roots() ; Polynomial(a*x,[x]).Roots()
Polynomial(3.).Roots() ; Polynomial((a+1)**2*x,[x]) ; Polynomial((a+1)**2*x,[x]).Expand()
Polynomial(x**2+x*y).Jacobian([x,y]) ; Polynomial(x**2+x*y).Jacobian([x,y]).shape
Polynomial(x**2+y).SubstituteAndExpand({x:Polynomial(z+1),y:Polynomial(z)})
Polynomial(a*x**2,[x]).SubstituteAndExpand({x:Polynomial(z+1)})
Evaluate(np.array([Polynomial(x),Polynomial(x*y)]),{x:2.,y:3.})
Jacobian(np.array([Polynomial(x**2),Polynomial(x*y)]),[x,y]) ; Polynomial(x)/Polynomial(y)
DecomposeQuadraticPolynomial(Polynomial(x**2+2*x*y+3*y+4),{x.get_id():0,y.get_id():1})
DecomposeQuadraticPolynomial(Polynomial(x**3),{x.get_id():0})
CalcPolynomialWLowerTriangularPart(MonomialBasis([x],1),np.array([1.,2.,3.]))
CalcPolynomialWLowerTriangularPart(MonomialBasis([x],1),np.array([a,b,c]))
# Rational functions
RationalFunction() ; RationalFunction(Polynomial(x),Polynomial(y+1)) ; RationalFunction(Polynomial(x))
RationalFunction(Monomial(x)) ; RationalFunction(3.0)
RationalFunction(Polynomial(x),Polynomial(y))+RationalFunction(Polynomial(x),Polynomial(y))
RationalFunction(Polynomial(x),Polynomial(y))+RationalFunction(Polynomial(x),Polynomial(z))
RationalFunction(Polynomial(x),Polynomial(y))+1.0 ; 1.0+RationalFunction(Polynomial(x),Polynomial(y))
RationalFunction(Polynomial(x),Polynomial(y))-Polynomial(x)
RationalFunction(Polynomial(x),Polynomial(y))*RationalFunction(Polynomial(x),Polynomial(z))
RationalFunction(Polynomial(x),Polynomial(y))*2.0 ; 2.0/RationalFunction(Polynomial(x),Polynomial(y))
RationalFunction(Polynomial(x),Polynomial(y))/Monomial(x)
RationalFunction(Polynomial(x),Polynomial(y))/RationalFunction(Polynomial(x),Polynomial(z))
-RationalFunction(Polynomial(x),Polynomial(y))
RationalFunction(Polynomial(x),Polynomial(y))==RationalFunction(Polynomial(x),Polynomial(z))
RationalFunction(Polynomial(x),Polynomial(y))!=RationalFunction(Polynomial(x),Polynomial(z))
RationalFunction(Polynomial(x),Polynomial(y)).EqualTo(RationalFunction(Polynomial(x),Polynomial(y)))
RationalFunction(Polynomial(x),Polynomial(y)).Evaluate({x:1.,y:2.})
RationalFunction(Polynomial(x),Polynomial(y)).Evaluate({x:1.,y:0.})
RationalFunction(Polynomial(x),Polynomial(y)).ToExpression()
RationalFunction(Polynomial(x),Polynomial(y)).numerator()
RationalFunction(Polynomial(x),Polynomial(y)).denominator() ; RationalFunction(Polynomial(x),Polynomial(y))**2
repr(RationalFunction(Polynomial(x),Polynomial(y))) ; hash(RationalFunction())
SubstituteStereographicProjection(Polynomial(a*x+1,[a]),[SinCos(a,b)],np.array([z]))
SubstituteStereographicProjection(Polynomial(a*b+1),[SinCos(a,b)],np.array([z]))
SubstituteStereographicProjection(Polynomial(x),[SinCos(a,b)],np.array([z]))
# Substitutions and decompositions
(x+1).Substitute(x,y) ; list(SinCosSubstitutionType.__members__.items())
forall(Variables([x]),x>y).Substitute(y,z) ; forall(Variables([x]),x>y).Substitute(x,z) ; (x+2*y+3).Unapply()[1]
(x+2*y+3).Unapply()[0](*(x+2*y+3).Unapply()[1]) ; (2*x*y**2).Unapply()[1]
(2*x*y**2).Unapply()[0](*(2*x*y**2).Unapply()[1]) ; (x/y).Unapply()[1] ; (x**3).Unapply()[1]
pow(x,y).Unapply()[1] ; (x-y).Unapply()[1] ; (-x+0).Unapply()[1] ; sin(x).Unapply()[1] ; sqrt(x).Unapply()[1]
if_then_else(x>y,x,y).Unapply()[1] ; max(x,y).Unapply()[1] ; uninterpreted_function("f",[x+0]).Unapply()[1]
(x>y+1).Unapply()[1] ; logical_and(x>0,y>0).Unapply()[1] ; Formula.True_().Unapply()[1]
forall(Variables([x]),x>y).Unapply()[1] ; isnan(x).Unapply()[1] ; (x*y).Unapply()[1] ; (x+y).Unapply()[1]
atan2(x,y).Unapply()[1] ; SinCos(x,y).s ; SinCos(s=x,c=y).type ; Substitute(sin(x)+cos(x),{x:SinCos(s=a,c=b)})
Substitute(x*sin(x+y),{x:SinCos(a,b)}) ; Substitute(x*sin(x+y),{x:SinCos(a,b),y:SinCos(c,z)})
Substitute(sin(2*x),{x:SinCos(a,b)}) ; Substitute(cos(2*x),{x:SinCos(a,b)})
Substitute(cos(-3*x),{x:SinCos(a,b)}) ; Substitute(sin(x-y),{x:SinCos(a,b),y:SinCos(c,z)})
Substitute(tan(x),{x:SinCos(a,b)}) ; Substitute(sin(x*y),{x:SinCos(a,b)})
Substitute(sin(x),{x:SinCos(a,b,SinCosSubstitutionType.kHalfAnglePreferSin)})
Substitute(cos(x),{x:SinCos(a,b,SinCosSubstitutionType.kHalfAnglePreferSin)})
Substitute(cos(x),{x:SinCos(a,b,SinCosSubstitutionType.kHalfAnglePreferCos)})
Substitute(sin(z)+x**2,{x:SinCos(a,b)}) ; Substitute(np.array([[sin(x),cos(x)]]),{x:SinCos(a,b)})
Substitute(sin(x)**2+cos(x)**2,{x:SinCos(a,b)}) ; ExtractVariablesFromExpression(x+y*z)[0]
sorted(ExtractVariablesFromExpression(x+y*z)[1].values()) ; ExtractVariablesFromExpression([x+1,y*z])[0]
DecomposeAffineExpression(2*x+3*y+4, {x.get_id():0,y.get_id():1})
DecomposeAffineExpression(2*x+4, {x.get_id():0,y.get_id():1})
DecomposeAffineExpression(2*x*y+4, {x.get_id():0,y.get_id():1})
DecomposeL2NormExpression(sqrt((x+1)**2+(y-2)**2))[0] ; DecomposeL2NormExpression(sqrt((x+1)**2+(y-2)**2))[3]
DecomposeL2NormExpression(x+y) ; DecomposeL2NormExpression(sqrt(x+0))[0]
DecomposeL2NormExpression(sqrt(x**2-y**2))[0] ; DecomposeLumpedParameters([a*x+b*y+z], [a,b])
DecomposeLumpedParameters([a*b*x+a*b*sin(y), a*x+3], [a,b]) ; DecomposeLumpedParameters([a*x+a*y+b], [a,b])
DecomposeLumpedParameters([sin(a*x)], [a]) ; DecomposeLumpedParameters([x+y], [a])
DecomposeLumpedParameters([(a+b)*x], [a,b]) ; DecomposeLumpedParameters([a+0], [a,b])
ReplaceBilinearTerms(x*y+2*x+3,[x],[y],np.array([[z]]))
ReplaceBilinearTerms(x*a+2*x*b+y*b+3*y,[x,y],[a,b],np.array([[z,c],[Variable("w"),Variable("v")]]))
ReplaceBilinearTerms(x**2*y,[x],[y],np.array([[z]])) ; type(to_sympy(x)).__name__ ; to_sympy(x>y)
to_sympy(logical_and(x>0,y>0)) ; to_sympy(2.5) ; to_sympy(True) ; to_sympy(if_then_else(x>y,x,y))
to_sympy(max(x,y)) ; to_sympy(abs(x)) ; (lambda m: from_sympy(to_sympy(x**2*sin(y)+1,memo=m)**2,memo=m))({})
ReplaceBilinearTerms(x**2,[x],[y],np.array([[z]])) ; ReplaceBilinearTerms(x*a,[x],[y],np.array([[z]]))
ReplaceBilinearTerms(x*y*a,[x],[y],np.array([[z]])) ; ReplaceBilinearTerms(x*y,[x,x],[y],np.array([[z],[z]]))
ReplaceBilinearTerms(x*y,[x],[y],np.array([[x+1]])) ; ReplaceBilinearTerms(x*y,[x],[y],np.array([[z+1]]))
ReplaceBilinearTerms(x**2,[x],[x],np.array([[z]]))
ReplaceBilinearTerms(x*y+x**2,[x,y],[x,y],np.array([[a,b],[b,c]]))
DecomposeL2NormExpression(sqrt((x+1)**2+(y-2)**2))[1] ; DecomposeL2NormExpression(sqrt((x+1)**2+(y-2)**2))[2]
DecomposeLumpedParameters([(a+x)*y], [a]) ; DecomposeLumpedParameters([2*a*x], [a])
DecomposeLumpedParameters([a**2*x+sin(b)*y], [a,b])
"""


def shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"[{', '.join(map(shown, value.ravel()))}]{value.shape}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{shown(key)}: {shown(each)}' for key, each in value.items()))}}}"
    return str(value)


def outcome(module: Any, case: str) -> str:
    names = {name: module.Variable(name) for name in "xyzabc"} | {"s": module, "np": np}
    try:
        return shown(eval(case, vars(module) | names))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(
    "line", [line for line in CASES.splitlines() if line and not line.startswith("#")], ids=lambda line: line[:30]
)
def test_texts_of_results_are_pydrakes(line: str) -> None:
    ours, theirs = merganser.framework.symbolic, drake
    cases = line.split(" ; ")
    assert {case: outcome(ours, case) for case in cases} == {case: outcome(theirs, case) for case in cases}


# Values where texts differ, each with what it is evaluated by.
VALUES = """
x**-1 ; x**-2 ; 0.1*x ; 1/3*x ; 3*(x+y) ; 3*(x+y)-x ; (x+y)/3 ; (x*y)**2 ; abs(-x)
(x+y)**3/(x+y) ; (x-y)*(x+y) ; inv(np.array([[x,y],[y,2*x]])) ; inv(np.array([[Expression(x),0],[0,Expression(2)]]))
Polynomial(a*x**2+b,[x]).ToExpression() ; Polynomial(x**2*y).Integrate(x).ToExpression()
Substitute(cos(-3*x),{x:SinCos(a,b)}) ; Substitute(sin(x+1),{x:SinCos(a,b)})
Substitute(cos(5*x+2*y)*sin(x),{x:SinCos(a,b),y:SinCos(c,z)}) ; Substitute(tan(2*x-y),{x:SinCos(a,b)})
Substitute(cos(0.5*x),{x:SinCos(a,b,SinCosSubstitutionType.kHalfAnglePreferSin)})
DecomposeL2NormExpression(sqrt((x+2*y)**2+(y-z+1)**2+4*(z-2)**2))[2]
DecomposeLumpedParameters([(a+x)*y,3*a*b*sin(x)],[a,b])[1]
"""


def numbers(value: Any, env: dict[Any, float]) -> list[float]:
    if isinstance(value, (np.ndarray, list, tuple)):
        return [number for each in value for number in numbers(each, env)]
    return [value.Evaluate(env) if hasattr(value, "Evaluate") else float(value)]


def value_of(module: Any, case: str) -> list[float]:
    variables = {name: module.Variable(name) for name in "xyzabc"}
    env = {variable: 0.3 + 0.37 * i for i, variable in enumerate(variables.values())}
    return numbers(eval(case, vars(module) | variables | {"np": np}), env)


@pytest.mark.parametrize("line", VALUES.strip().splitlines(), ids=lambda line: line[:30])
def test_values_are_pydrakes_where_texts_are_not(line: str) -> None:
    for case in line.split(" ; "):
        ours, theirs = value_of(merganser.framework.symbolic, case), value_of(drake, case)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14, err_msg=case)


@pytest.mark.parametrize("seed", range(5))
def test_random_polynomials_have_the_coefficients_of_pydrakes(seed: int) -> None:
    def coefficients(module: Any) -> dict[str, float]:
        rng = np.random.default_rng(seed)
        x, y, z, a, b = (module.Variable(name) for name in "xyzab")
        e: Any = module.Expression(1.0)
        for _ in range(3):
            linear = [rng.integers(-3, 4) * v for v in (x, y, z, a * x, b * y**2, module.sin(a) * z)]
            e = e * sum(linear, start=module.Expression(rng.normal())) if rng.random() < 0.7 else e**2 + linear[0]
        p = module.Polynomial(e, [x, y, z])
        terms = (p.Differentiate(y) * p).monomial_to_coefficient_map()
        return {str(monomial): c.Evaluate({a: 0.4, b: -1.2}) for monomial, c in terms.items()}

    ours, theirs = coefficients(merganser.framework.symbolic), coefficients(drake)
    assert {k for k, c in ours.items() if c} == {k for k, c in theirs.items() if c}
    scale = max(map(abs, theirs.values()), default=1.0)
    assert all(abs(ours[k] - c) < 1e-12 * scale for k, c in theirs.items() if c)


def test_random_variables_are_drawn_in_the_same_order() -> None:
    def drawn(module: Any, generator: Any) -> np.ndarray:
        Type = module.Variable.Type
        kinds = [Type.RANDOM_GAUSSIAN, Type.RANDOM_EXPONENTIAL, Type.RANDOM_UNIFORM, Type.RANDOM_GAUSSIAN]
        g, e, u, h = (module.Variable(kind.name, kind) for kind in kinds)
        return module.Evaluate(np.array([h, e, u + 0 * g, g - e * u]), {}, generator).ravel()

    from pydrake.common import RandomGenerator as TheirGenerator

    ours = drawn(merganser.framework.symbolic, merganser.framework.RandomGenerator(5))
    np.testing.assert_allclose(ours, drawn(drake, TheirGenerator(5)), rtol=1e-15, atol=1e-15)
