/**
 * Stands for a `<style>` element, which the page forbids: its text becomes a style sheet that the document adopts.
 * The build puts it in the place of the elements that the terminal emulator creates.
 */
export function createStyleElement(): HTMLElement {
	const element = document.createElement("template");
	const sheet = new CSSStyleSheet();
	document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
	const property = { get: () => "", set: (text: string) => sheet.replaceSync(text) };
	Object.defineProperty(element, "textContent", property);
	Object.defineProperty(element, "innerText", property);
	element.remove = () => {
		document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
		element.parentNode?.removeChild(element);
	};
	return element;
}
