console.log('the page')
